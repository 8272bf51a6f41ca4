# SPDX-License-Identifier: Apache-2.0
"""Losses and accuracies of each example, as Keras computes them."""

from collections.abc import Callable

import numpy as np

from stoker.errors import BadData
from stoker.evaluation.accumulators import Scored, class_ids, pairs

_EPSILON = np.float32(1e-7)


def exact(batch: Scored) -> np.ndarray:
    """The share of labels that are what the model says."""
    labels, predictions = pairs(batch, "Accuracy", one_hot=False)
    return np.asarray((labels == predictions).mean(axis=1))


def binary_cross_entropy(batch: Scored, from_logits: bool, smoothing: float) -> np.ndarray:
    """-log of what the model gives to the label, of two."""
    labels, scores = (
        one.astype(np.float32) for one in pairs(batch, "BinaryCrossentropy", one_hot=False)
    )
    labels = labels * np.float32(1 - smoothing) + np.float32(smoothing / 2)
    if from_logits:
        loss = np.maximum(scores, 0) - scores * labels + np.log1p(np.exp(-np.abs(scores)))
        return np.asarray(loss.mean(axis=1))
    scores = np.clip(scores, _EPSILON, 1 - _EPSILON)
    of_yes, of_no = np.log(scores + _EPSILON), np.log(1 - scores + _EPSILON)
    return np.asarray(-(labels * of_yes + (1 - labels) * of_no).mean(axis=1))


def _class_scores(batch: Scored, metric: str) -> np.ndarray:
    if batch.predictions.ndim != 2:
        raise BadData(
            f"{metric} takes a score for each class, and the model gives one number per example. "
            "Use a binary metric, such as BinaryAccuracy, or name another prediction_key."
        )
    return batch.predictions.astype(np.float32)


def _sparse(batch: Scored, metric: str) -> np.ndarray:
    """Labels that are numbers of classes."""
    _class_scores(batch, metric)
    if batch.labels.ndim == 2:
        raise BadData(
            f"{metric} takes the number of a class as label, and the labels have "
            f"{batch.labels.shape[1]} values. Use {metric.removeprefix('Sparse')}."
        )
    return class_ids(batch, metric)


def _dense(batch: Scored, metric: str) -> np.ndarray:
    """Labels with a number for each class."""
    scores = _class_scores(batch, metric)
    if batch.labels.shape != scores.shape:
        found = batch.labels.shape[1] if batch.labels.ndim > 1 else 1
        raise BadData(
            f"{metric} takes labels with a value for each of the {scores.shape[1]} classes, and "
            f"they have {found}. For labels that are numbers of classes use Sparse{metric}."
        )
    return batch.labels.astype(np.float32)


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    from_highest = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(from_highest - np.log(np.exp(from_highest).sum(axis=1, keepdims=True)))


def _sparse_accuracy(batch: Scored, _: bool) -> np.ndarray:
    ids = _sparse(batch, "SparseCategoricalAccuracy")
    return np.asarray(batch.predictions.argmax(axis=1) == ids)


def _accuracy(batch: Scored, _: bool) -> np.ndarray:
    labels = _dense(batch, "CategoricalAccuracy")
    return np.asarray(batch.predictions.argmax(axis=1) == labels.argmax(axis=1))


def _sparse_cross_entropy(batch: Scored, from_logits: bool) -> np.ndarray:
    """-log of what the model gives to the label; scores are made to add up to 1."""
    ids = _sparse(batch, "SparseCategoricalCrossentropy")
    scores = _class_scores(batch, "SparseCategoricalCrossentropy")
    logits = scores if from_logits else np.log(np.clip(scores, _EPSILON, 1 - _EPSILON))
    return np.asarray(-_log_softmax(logits)[np.arange(len(ids)), ids])


def _cross_entropy(batch: Scored, from_logits: bool) -> np.ndarray:
    """The cross entropy of labels that are shares of classes."""
    labels = _dense(batch, "CategoricalCrossentropy")
    scores = _class_scores(batch, "CategoricalCrossentropy")
    if from_logits:
        return np.asarray(-(labels * _log_softmax(scores)).sum(axis=1))
    shares = scores / scores.sum(axis=1, keepdims=True)
    return np.asarray(-(labels * np.log(np.clip(shares, _EPSILON, 1 - _EPSILON))).sum(axis=1))


CLASS_LOSSES: dict[str, Callable[[Scored, bool], np.ndarray]] = {
    "SparseCategoricalAccuracy": _sparse_accuracy,
    "CategoricalAccuracy": _accuracy,
    "SparseCategoricalCrossentropy": _sparse_cross_entropy,
    "CategoricalCrossentropy": _cross_entropy,
}
