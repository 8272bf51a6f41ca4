# SPDX-License-Identifier: Apache-2.0
"""The features of a batch of examples, as labels, weights and slices need them.

Labels are numbers: text is looked up among the classes of the model.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from stoker.any_python.lines import did_you_mean, say
from stoker.errors import BadData


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature's values in a batch: so many for each example, one example after another."""

    values: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of_rows(cls, rows: np.ndarray) -> Self:
        """From an array with a row for each example."""
        flat = rows.reshape(len(rows), -1)
        return cls(flat.ravel(), np.full(len(rows), flat.shape[1]))

    @property
    def starts(self) -> np.ndarray:
        """Where the values of each example begin."""
        return np.asarray(np.cumsum(self.lengths) - self.lengths)


Features = Mapping[str, Feature]


def features_of(batch: Any) -> dict[str, Feature]:
    """The features that have values in an Arrow record batch of lists; a null is an empty list."""
    features = {}
    for name in batch.schema.names:
        lists = batch.column(name)
        if not lists.type.num_fields:  # no example has a value: the lists are of no type
            continue
        values = lists.flatten()
        if not len(values):
            continue
        lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        features[name] = Feature(values.to_numpy(zero_copy_only=False), lengths.astype(np.int64))
    return features


def column(features: Features, name: str, role: str) -> np.ndarray:
    """A numeric feature with as many values in every example: (N,), or (N, k) for k values."""
    if name not in features:
        raise no_such_feature(name, f"is to be the {role}", features)
    feature = features[name]
    if feature.values.dtype == object:
        raise BadData(
            f"The {role} {name!r} is text, such as {feature.values[0]!r}, and metrics take "
            "numbers. Turn it into numbers in Transform, and name the model's signature that does "
            "so in ModelSpec.preprocessing_function_names."
        )
    width = int(feature.lengths.max(initial=0))
    if (feature.lengths != width).any() or not width:
        lacking = int((feature.lengths != width).sum()) if width else len(feature.lengths)
        raise BadData(
            f"The {role} {name!r} should have as many values in every example: {lacking} of "
            f"{len(feature.lengths)} have another number than {width or 1}."
            " Fill in what is missing."
        )
    refuse_nan(feature.values, f"The {role} {name!r}")
    return feature.values if width == 1 else feature.values.reshape(-1, width)


def labels_of(features: Features, name: str, outputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """The labels; text becomes the number of the class that the model calls so."""
    feature, classes = features.get(name), _classes(outputs)
    if feature is None or feature.values.dtype != object or classes is None:
        return column(features, name, "label")
    numbers = {one: number for number, one in enumerate(classes)}
    for one in feature.values:
        if one not in numbers:
            known = ", ".join(repr(other.decode()) for other in classes)
            raise BadData(
                f"The label {name!r} is {one.decode(errors='replace')!r} in an example, which is "
                f"no class of the model: it has {known}."
                " Correct it, or train with it."
            )
    ids = np.array([numbers[one] for one in feature.values], np.int64)
    return column({name: Feature(ids, feature.lengths)}, name, "label")


def _classes(outputs: Mapping[str, np.ndarray]) -> list[bytes] | None:
    """The names of all classes, as the classification signatures of Estimators give them."""
    found = outputs.get("all_classes", outputs.get("classes") if "scores" in outputs else None)
    if found is None or found.dtype != object or found.ndim < 2:
        return None
    first: list[bytes] = found.reshape(-1, found.shape[-1])[0].tolist()
    return first


def no_such_feature(name: str, what_for: str, known: Iterable[str]) -> BadData:
    """The error about a feature that no example has."""
    return BadData(_describe_missing(name, what_for, known))


def say_there_are_no_slices_by(name: str, known: Iterable[str]) -> None:
    """Tell of a slicing_spec whose feature no example has: TFMA makes no slices by it."""
    told = _describe_missing(name, "a slicing_spec names", known)
    say(f"{told} There are no slices by it.")


def _describe_missing(name: str, what_for: str, known: Iterable[str]) -> str:
    names = sorted(known)
    return (
        f"The examples have no feature {name!r}, which {what_for}.{did_you_mean(name, names)} They "
        f"have {', '.join(names) or 'none'}."
    )


def refuse_nan(array: np.ndarray, what: str) -> None:
    """Refuse numbers that are none: a metric of them says nothing."""
    if array.dtype.kind == "f" and (num := int(np.isnan(array).sum())):
        raise BadData(
            f"{what} is not a number (NaN) {num} times in a batch of {len(array)}. Look at the "
            "examples, and at what the model makes of missing values."
        )
