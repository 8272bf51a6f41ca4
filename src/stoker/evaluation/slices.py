# SPDX-License-Identifier: Apache-2.0
"""Which examples are in which slice: all of them, or those with the same values of features."""

from collections.abc import Iterable, Sequence, Set

import numpy as np

from stoker.dsl.proto.eval_config_pb2 import SlicingSpec
from stoker.errors import BadData
from stoker.evaluation.features import Feature, Features, say_there_are_no_slices_by

SliceValue = str | int | float
SliceKey = tuple[tuple[str, SliceValue], ...]
"""Features and their values, sorted by name; empty for all examples."""

Members = tuple[np.ndarray, np.ndarray]
"""Rows of a batch, and for each the number of a slice that it is in."""


class Slicer:
    """Numbers the slices as it meets them in one batch after another."""

    def __init__(self, specs: Sequence[SlicingSpec]) -> None:
        self.known: set[str] = set()
        """The features that examples had."""
        self._specs = list(specs)
        self._numbers: dict[SliceKey, int] = {}

    @property
    def keys(self) -> list[SliceKey]:
        """All slices so far, in the order of their numbers."""
        return list(self._numbers)

    def members(self, features: Features, num_rows: int) -> Members:
        """Every example of a batch as often as there are slices that it is in."""
        self.known.update(features)
        found = [self._of_spec(spec, features, num_rows) for spec in self._specs]
        rows = np.concatenate([rows for rows, _ in found])
        slices = np.concatenate([slices for _, slices in found])
        # Two specs may mean the same slice, and an example may have a value twice.
        pairs = np.unique(rows * max(1, len(self._numbers)) + slices)
        return np.divmod(pairs, max(1, len(self._numbers)))

    def _of_spec(self, spec: SlicingSpec, features: Features, num_rows: int) -> Members:
        names = sorted({*spec.feature_keys, *spec.feature_values})
        rows, codes = np.arange(num_rows), np.zeros(num_rows, np.int64)
        if not all(name in features for name in names):
            return rows[:0], codes[:0]
        values: list[list[SliceValue]] = []
        for name in names:
            wanted = spec.feature_values.get(name)
            rows, codes, distinct = _split(rows, codes, features[name], wanted)
            values.append(distinct)
        found, places = np.unique(codes, return_inverse=True)
        numbers = [self._number(names, values, int(code)) for code in found]
        return rows, np.array(numbers, np.int64)[places]

    def _number(self, names: list[str], values: list[list[SliceValue]], code: int) -> int:
        key = []
        for name, distinct in zip(reversed(names), reversed(values), strict=True):
            code, place = divmod(code, len(distinct))
            key.append((name, distinct[place]))
        return self._numbers.setdefault(tuple(reversed(key)), len(self._numbers))


def tell_of_missing_features(specs: Iterable[SlicingSpec], known: Set[str]) -> None:
    """Say which features the specs name that no example had."""
    for spec in specs:
        for name in (*spec.feature_keys, *spec.feature_values):
            if name not in known:
                say_there_are_no_slices_by(name, known)


def _split(
    rows: np.ndarray, codes: np.ndarray, feature: Feature, wanted: str | None
) -> tuple[np.ndarray, np.ndarray, list[SliceValue]]:
    """Members by one more feature: a row with several values goes to several slices."""
    lengths = feature.lengths[rows]
    parents = np.repeat(np.arange(len(rows)), lengths)
    within = np.arange(len(parents)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    distinct, code_of_value = _distinct(feature.values)
    own = code_of_value[np.repeat(feature.starts[rows], lengths) + within]
    if wanted is not None:
        chosen = [value_of(wanted), wanted]
        kept = np.array([one in chosen for one in distinct], bool)[own]
        parents, own = parents[kept], own[kept]
    return rows[parents], codes[parents] * max(1, len(distinct)) + own, distinct or [""]


def _distinct(values: np.ndarray) -> tuple[list[SliceValue], np.ndarray]:
    if values.dtype != object:
        numbers, codes = np.unique(values, return_inverse=True)
        return numbers.tolist(), codes
    table: dict[bytes, int] = {}
    codes = np.fromiter((table.setdefault(one, len(table)) for one in values), np.int64)
    try:
        return [word.decode() for word in table], codes
    except UnicodeDecodeError as error:
        raise BadData(
            f"A feature with the value {error.object!r} cannot name a slice. Slice by another."
        ) from error


def value_of(text: str) -> SliceValue:
    """A value as a slicing_spec spells it: a number, if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def fits(spec: SlicingSpec, key: SliceKey) -> bool:
    """Whether a slice is one of those that a spec means."""
    wanted = {name: value_of(text) for name, text in spec.feature_values.items()}
    return {name for name, _ in key} == {*spec.feature_keys, *wanted} and all(
        name not in wanted or wanted[name] in (value, value_of(str(value))) for name, value in key
    )


def describe_slice(key: SliceKey) -> str:
    """A slice in words."""
    return ", ".join(f"{name}={value}" for name, value in key) or "all examples"
