# SPDX-License-Identifier: Apache-2.0
"""What metrics are made of: sums over the examples of a slice, kept for all slices at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from stoker.any_python.lines import say
from stoker.errors import BadData

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

    def add(self, sums: np.ndarray, batch: Scored, rows: np.ndarray, slices: np.ndarray) -> None:
        """Add the examples in `rows`, each to the slice of the same place."""
        columns, values = self.cells(batch)
        places = slices[:, None] * self.width + columns[rows]
        np.add.at(sums.reshape(-1), places.ravel(), values[rows].astype(np.float64).ravel())


@dataclass(frozen=True, slots=True)
class RecordStatistic:
    """Sums of a model that computes a row itself, from the serialized examples of a slice."""

    key: str
    width: int
    row: Callable[[Sequence[bytes]], np.ndarray]

    def add(
        self, sums: np.ndarray, records: Sequence[bytes], rows: np.ndarray, slices: np.ndarray
    ) -> None:
        """Add the examples in `rows`, as they are stored, each to the slice of the same place."""
        for one in np.unique(slices):
            sums[one] += self.row([records[row] for row in rows[slices == one]])


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


def pairs(batch: Scored, metric: str, *, one_hot: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Labels and predictions of a metric of single numbers, (N, m): m classes are m pairs.

    With `one_hot`, a label may be the number of a class.
    """
    labels, predictions = batch.labels, batch.predictions
    if labels.ndim < predictions.ndim and one_hot:
        classes = np.arange(predictions.shape[1])
        labels = class_ids(batch, metric)[:, None] == classes
    if labels.shape != predictions.shape:
        raise BadData(
            f"{metric}: the labels have {_per_example(labels)} per example, and the predictions "
            f"{_per_example(predictions)}. Name another label_key or prediction_key, or use a "
            "metric for classes, such as SparseCategoricalAccuracy."
        )
    rows = len(labels)
    return (
        labels.reshape(rows, -1).astype(np.float64),
        predictions.reshape(rows, -1).astype(np.float64),
    )


def _per_example(array: np.ndarray) -> str:
    return f"{array.shape[1]} values" if array.ndim > 1 else "one value"


def class_ids(batch: Scored, metric: str) -> np.ndarray:
    """Labels that are the numbers of the classes that are predicted."""
    num_classes, ids = batch.predictions.shape[1], batch.labels.astype(np.int64)
    outside = (ids < 0) | (ids >= num_classes) | (ids != batch.labels)
    if outside.any():
        raise BadData(
            f"{metric}: the label {batch.labels[outside][0]:g} is no class of the model, which "
            f"has {num_classes}: 0 to {num_classes - 1}."
            " Correct the label, or name another label_key."
        )
    return ids


def _in_unit_range(batch: Scored, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of labels and predictions, where labels are 0, 1, or a share between them."""
    labels, predictions = pairs(batch, metric)
    outside = (labels < 0) | (labels > 1) | np.isnan(labels)
    if outside.any():
        raise BadData(
            f"{metric} takes labels from 0 to 1, and one is {labels[outside][0]:g}. Name another "
            "label_key, or use a metric for classes or for regression."
        )
    return labels, predictions


def confusion(threshold: float, top_k: int = 0) -> Statistic:
    """True positives, true negatives, false positives, false negatives: > threshold is yes.

    With `top_k`, only the so many highest scores of an example may be.
    """

    def cells(batch: Scored) -> Cells:
        labels, predictions = _in_unit_range(batch, "A confusion matrix")
        yes = predictions > threshold
        return _confuse(labels, yes & _is_among(predictions, top_k), batch.weights)

    return Statistic(f"confusion {threshold!r} of {top_k}", 4, cells)


def _is_among(scores: np.ndarray, top_k: int) -> np.ndarray | bool:
    """Which scores are among the `top_k` highest of their row."""
    if not top_k:
        return True
    if top_k > scores.shape[1]:
        raise BadData(
            f"A metric of the top {top_k} classes takes as many scores, and the model gives "
            f"{scores.shape[1]}. Ask for fewer: top_k={scores.shape[1]}."
        )
    highest = np.argpartition(scores, -top_k, axis=1)[:, -top_k:]
    found = np.zeros(scores.shape, bool)
    np.put_along_axis(found, highest, True, axis=1)
    return found


def lenient_confusion(threshold: float, metric: str) -> Statistic:
    """A confusion matrix in which no prediction is right for a label outside 0 to 1, as in Keras.

    So was BinaryAccuracy when TFMA left it to Keras: pipelines of that time give it the raw label,
    of which Transform makes the binary one.
    """
    told: list[float] = []

    def cells(batch: Scored) -> Cells:
        labels, predictions = pairs(batch, metric)
        yes, is_binary = predictions > threshold, (labels >= 0) & (labels <= 1)
        if not is_binary.all() and not told:
            told.append(float(labels[~is_binary][0]))
            say(
                f"{metric} takes labels from 0 to 1, and one is {told[0]:g}: whatever is predicted "
                "there counts as wrong. Name the label that the model was trained with."
            )
        return _confuse(np.where(is_binary, labels, ~yes), yes, batch.weights)

    return Statistic(f"lenient confusion {threshold!r}", 4, cells)


def _confuse(labels: np.ndarray, yes: np.ndarray, weights: np.ndarray) -> Cells:
    kinds = [labels * yes, (1 - labels) * ~yes, (1 - labels) * yes, labels * ~yes]
    values = weights[:, None] * np.stack([one.sum(axis=1) for one in kinds], axis=1)
    return np.broadcast_to(np.arange(4), values.shape), values


def histogram() -> Statistic:
    """Weights of negative labels by the bucket of the prediction, then those of positive ones."""
    width = NUM_BUCKETS + 2

    def cells(batch: Scored) -> Cells:
        labels, predictions = _in_unit_range(batch, "AUC")
        buckets = np.clip(predictions * NUM_BUCKETS + 1, 0, NUM_BUCKETS + 1).astype(np.int64)
        columns = np.concatenate([buckets, width + buckets], axis=1)
        return columns, batch.weights[:, None] * np.concatenate([1 - labels, labels], axis=1)

    return Statistic("histogram", 2 * width, cells)


def between_thresholds(num: int) -> Statistic:
    """A histogram whose buckets lie between the evenly spaced thresholds of Keras."""

    def cells(batch: Scored) -> Cells:
        labels, predictions = _in_unit_range(batch, "AUC")
        scaled = np.clip(predictions, 0, 1).astype(np.float32) * np.float32(num - 1)
        buckets = np.maximum(np.ceil(scaled) - 1, 0).astype(np.int64)
        columns = np.concatenate([buckets, num + buckets], axis=1)
        return columns, batch.weights[:, None] * np.concatenate([1 - labels, labels], axis=1)

    return Statistic(f"between {num} thresholds", 2 * num, cells)
