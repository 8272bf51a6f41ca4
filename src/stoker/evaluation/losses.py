# SPDX-License-Identifier: Apache-2.0
"""Losses and accuracies of each example, as Keras computes them."""

from collections.abc import Callable

import numpy as np

from stoker.errors import BadData
from stoker.evaluation.statistics import Scored, one_score

__all__ = ["CLASS_LOSSES", "binary_cross_entropy"]

_EPSILON = np.float32(1e-7)


def binary_cross_entropy(batch: Scored, from_logits: bool, smoothing: float) -> np.ndarray:
    """-log of what the model gives to the label, of two."""
    labels, scores = (one.astype(np.float32) for one in one_score(batch, "BinaryCrossentropy"))
    labels = labels * np.float32(1 - smoothing) + np.float32(smoothing / 2)
    if from_logits:
        loss = np.maximum(scores, 0) - scores * labels + np.log1p(np.exp(-np.abs(scores)))
        return np.asarray(loss)
    scores = np.clip(scores, _EPSILON, 1 - _EPSILON)
    of_yes, of_no = np.log(scores + _EPSILON), np.log(1 - scores + _EPSILON)
    return np.asarray(-(labels * of_yes + (1 - labels) * of_no))


def _class_scores(batch: Scored, metric: str) -> np.ndarray:
    if batch.predictions.ndim != 2:
        raise BadData(
            f"{metric} takes a score for each class, and the model gives one number per example. "
            "Use a binary metric, such as BinaryAccuracy, or name another prediction_key."
        )
    return batch.predictions.astype(np.float32)


def _class_ids(batch: Scored, metric: str) -> np.ndarray:
    """The class of each example; labels may be numbers of classes, or one-hot."""
    num_classes = _class_scores(batch, metric).shape[1]
    if batch.labels.ndim == 2:
        if batch.labels.shape[1] != num_classes:
            raise BadData(
                f"{metric}: the labels have {batch.labels.shape[1]} values, and the predictions "
                f"{num_classes} classes."
            )
        return np.asarray(np.argmax(batch.labels, axis=1))
    ids = batch.labels.astype(np.int64)
    outside = (ids < 0) | (ids >= num_classes) | (ids != batch.labels)
    if outside.any():
        raise BadData(
            f"{metric}: the label {batch.labels[outside][0]:g} is no class of the model, which "
            f"has {num_classes}: 0 to {num_classes - 1}."
        )
    return ids


def _is_best(metric: str) -> Callable[[Scored, bool], np.ndarray]:
    def of_example(batch: Scored, _: bool) -> np.ndarray:
        best = np.argmax(_class_scores(batch, metric), axis=1)
        return np.asarray(best == _class_ids(batch, metric))

    return of_example


def _cross_entropy(metric: str) -> Callable[[Scored, bool], np.ndarray]:
    """-log of what the model gives to the label, of several; scores are made to add up to 1."""

    def of_example(batch: Scored, from_logits: bool) -> np.ndarray:
        scores = _class_scores(batch, metric)
        logits = scores if from_logits else np.log(np.clip(scores, _EPSILON, 1 - _EPSILON))
        highest = logits.max(axis=1)
        total = np.log(np.exp(logits - highest[:, None]).sum(axis=1)) + highest
        ids = _class_ids(batch, metric)
        return np.asarray(total - logits[np.arange(len(ids)), ids])

    return of_example


CLASS_LOSSES = {
    "SparseCategoricalAccuracy": _is_best("SparseCategoricalAccuracy"),
    "CategoricalAccuracy": _is_best("CategoricalAccuracy"),
    "SparseCategoricalCrossentropy": _cross_entropy("SparseCategoricalCrossentropy"),
    "CategoricalCrossentropy": _cross_entropy("CategoricalCrossentropy"),
}
