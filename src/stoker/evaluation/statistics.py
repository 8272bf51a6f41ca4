# SPDX-License-Identifier: Apache-2.0
"""What metrics are made of: sums over the examples of a slice, kept for all slices at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stoker.errors import BadData

__all__ = [
    "NUM_BUCKETS",
    "Scored",
    "Statistic",
    "Totals",
    "confusion",
    "histogram",
    "labels_in_unit_range",
    "mean_of",
    "one_score",
    "totals_of",
]

NUM_BUCKETS = 10_000
"""TFMA's histogram has so many buckets in [0, 1), one below and one above."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Examples of a batch, with what a model says of them: one number each, or one per class."""

    labels: np.ndarray
    predictions: np.ndarray
    weights: np.ndarray


Cells = tuple[np.ndarray, np.ndarray]
"""For each example, some columns of a table, and what to add to them: two arrays (N, m)."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """A table with `width` columns and a row for each slice, to which every example adds cells.

    Those with the same key are the same, and are summed once.
    """

    key: str
    width: int
    cells: Callable[[Scored], Cells]


class Totals:
    """The table of a statistic."""

    def __init__(self, statistic: Statistic) -> None:
        self._statistic = statistic
        self._sums = np.zeros(0)

    def add(self, batch: Scored, rows: np.ndarray, slices: np.ndarray, num_slices: int) -> None:
        """Add the examples in `rows`, each to the slice of the same place."""
        width = self._statistic.width
        if len(self._sums) < num_slices * width:
            self._sums = np.concatenate(
                [self._sums, np.zeros(num_slices * width - len(self._sums))]
            )
        columns, values = self._statistic.cells(batch)
        places = slices[:, None] * width + columns[rows]
        np.add.at(self._sums, places.ravel(), values[rows].astype(np.float64).ravel())

    def of_slice(self, index: int) -> np.ndarray:
        """The sums of one slice."""
        width = self._statistic.width
        return self._sums[index * width : (index + 1) * width]


def totals_of(key: str, *of_example: Callable[[Scored], np.ndarray]) -> Statistic:
    """Plain sums: each function gives a number for each example."""
    width = len(of_example)

    def cells(batch: Scored) -> Cells:
        values = np.stack([one(batch) for one in of_example], axis=1)
        return np.broadcast_to(np.arange(width), values.shape), values

    return Statistic(key, width, cells)


def mean_of(key: str, of_example: Callable[[Scored], np.ndarray]) -> Statistic:
    """A weighted sum, and the sum of the weights."""
    return totals_of(
        key, lambda batch: batch.weights * of_example(batch), lambda batch: batch.weights
    )


def one_score(batch: Scored, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """The labels and predictions of a metric that takes one number of each."""
    for name, array in (("predictions", batch.predictions), ("labels", batch.labels)):
        if array.ndim > 1:
            raise BadData(
                f"{metric} takes one number per example, and the {name} have "
                f"{list(array.shape[1:])}. Use a metric for classes, such as "
                "SparseCategoricalAccuracy, or binarize the classes, which needs "
                "Evaluator(engine='tfma')."
            )
    return batch.labels.astype(np.float64), batch.predictions.astype(np.float64)


def labels_in_unit_range(batch: Scored, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """The same, for labels that are 0, 1, or a share between them."""
    labels, predictions = one_score(batch, metric)
    outside = (labels < 0) | (labels > 1) | np.isnan(labels)
    if outside.any():
        raise BadData(
            f"{metric} takes labels from 0 to 1, and one is {labels[outside][0]:g}. Name another "
            "label_key, or use a metric for classes or for regression."
        )
    return labels, predictions


def confusion(threshold: float) -> Statistic:
    """True positives, true negatives, false positives, false negatives: > threshold is yes."""

    def cells(batch: Scored) -> Cells:
        labels, predictions = labels_in_unit_range(batch, "A confusion matrix")
        yes = predictions > threshold
        positive, negative = batch.weights * labels, batch.weights * (1 - labels)
        values = np.stack(
            [positive * yes, negative * ~yes, negative * yes, positive * ~yes], axis=1
        )
        return np.broadcast_to(np.arange(4), values.shape), values

    return Statistic(f"confusion {threshold!r}", 4, cells)


def histogram() -> Statistic:
    """Weights of negative labels by the bucket of the prediction, then those of positive ones."""
    width = NUM_BUCKETS + 2

    def cells(batch: Scored) -> Cells:
        labels, predictions = labels_in_unit_range(batch, "AUC")
        buckets = np.clip(predictions * NUM_BUCKETS + 1, 0, NUM_BUCKETS + 1).astype(np.int64)
        columns = np.stack([buckets, width + buckets], axis=1)
        return columns, np.stack([batch.weights * (1 - labels), batch.weights * labels], axis=1)

    return Statistic("histogram", 2 * width, cells)
