# SPDX-License-Identifier: Apache-2.0
"""Which examples are in which slice of a batch: functions that TFDV's `StatsOptions` take."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stoker.errors import MissingPart
from stoker.stand_ins.tfdv.stats_options import SliceFunction, StatsOptions

if TYPE_CHECKING:
    import pyarrow as pa

SliceValue = str | int | bytes
Slices = Iterable[tuple[str | None, "pa.RecordBatch"]]


def default_slicer(record_batch: "pa.RecordBatch") -> Slices:
    """All examples, as one slice."""
    from stoker.statistics.compute import ALL_EXAMPLES

    yield ALL_EXAMPLES, record_batch


def get_feature_value_slicer(
    features: Mapping[str, Iterable[SliceValue] | None],
) -> SliceFunction:
    """A function that makes a slice of each combination of values that these features have.

    For a feature with a list of values, only those make slices.
    """
    wanted = {
        name: None if values is None else _check_values(name, values)
        for name, values in features.items()
    }

    def slice_by_feature_values(record_batch: "pa.RecordBatch") -> Slices:
        names = sorted(name for name in wanted if name in record_batch.schema.names)
        rows: dict[str, list[int]] = {}
        columns = [record_batch.column(name).to_pylist() for name in names]
        for row, cells in enumerate(zip(*columns, strict=True)):
            choices = [
                _choose_values(cell, wanted[name]) for name, cell in zip(names, cells, strict=True)
            ]
            for values in itertools.product(*choices):
                pairs = zip(names, values, strict=True)
                rows.setdefault("_".join(f"{name}_{value}" for name, value in pairs), []).append(
                    row
                )
        for key, members in rows.items():
            yield key, record_batch.take(members)

    return slice_by_feature_values


experimental_get_feature_value_slicer = get_feature_value_slicer


def _check_values(name: str, values: Any) -> set[str]:
    if not isinstance(values, Iterable):
        raise TypeError(f"To slice by {name!r} takes a list of values, got {values!r}.")
    found = list(values)
    if any(not isinstance(value, str | bytes | int) for value in found):
        raise NotImplementedError(f"Slices take text or integers; {name!r} has {found!r}.")
    return {_show(value) for value in found}


def _choose_values(cell: list[Any] | None, wanted: set[str] | None) -> list[str]:
    """The different values of a cell that make slices, as the text that is in a slice's key."""
    shown = dict.fromkeys(_show(value) for value in cell or ())
    return [value for value in shown if wanted is None or value in wanted]


def _show(value: Any) -> str:
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"A slice takes UTF-8 text; {value!r} is not UTF-8.") from error


def find_slicers(options: StatsOptions) -> list[SliceFunction]:
    """The slices that options ask for."""
    if options.slicing_config is None:
        return list(options.experimental_slice_functions or ())
    return [*_read_config(options.slicing_config)]


def _read_config(config: Any) -> Iterator[SliceFunction]:
    for spec in config.slicing_specs:
        if spec.slice_keys_sql:
            raise MissingPart(
                "Stoker does not slice by SQL (slice_keys_sql). Slice by feature_keys, or by "
                "feature_values.",
                name="slice_keys_sql",
            )
        features: dict[str, Iterable[SliceValue] | None] = dict.fromkeys(spec.feature_keys)
        features |= {name: [value] for name, value in spec.feature_values.items()}
        yield get_feature_value_slicer(features)


def generate_slices(
    record_batch: "pa.RecordBatch", slice_functions: Iterable[SliceFunction], **kwargs: Any
) -> Slices:
    """The slices of a batch by each of the functions."""
    for slice_function in slice_functions:
        yield from slice_function(record_batch, **kwargs)
