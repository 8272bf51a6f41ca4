# SPDX-License-Identifier: Apache-2.0
"""The labels of a batch of examples, as numbers: text is looked up among the model's classes."""

from collections.abc import Mapping

import numpy as np

from stoker.errors import BadData
from stoker.evaluation.features import Feature, Features, column

__all__ = ["labels_of"]


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
