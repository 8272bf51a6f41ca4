# SPDX-License-Identifier: Apache-2.0
"""Plots by the class names of TFMA: which sums each needs, and the message that they become.

Thresholds, buckets and edge cases are those of TFMA, whose widgets draw the same messages.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stoker.dsl.proto.evaluation_pb2 import PlotData
from stoker.errors import BadData
from stoker.evaluation.accumulators import (
    NUM_BUCKETS,
    Cells,
    Scored,
    Statistic,
    class_ids,
    histogram,
    pairs,
)
from stoker.evaluation.areas import count_above

Settings = Mapping[str, Any]
Draw = Callable[[np.ndarray], PlotData]

_EPSILON = 1e-7
_NUM_STEPS = 1000
_MAX_CLASSES = 128


@dataclass(frozen=True, slots=True)
class Plot:
    """What is drawn of each slice: a message made of the sums of a statistic."""

    name: str
    """Empty for TFMA's usual names, which share one message."""
    statistic: Statistic
    draw: Draw


def _confusion_matrices(settings: Settings) -> tuple[Statistic, Draw]:
    """What is right and wrong at thresholds from 0 to 1, and below 0."""
    num = settings.get("num_thresholds") or _NUM_STEPS
    thresholds = np.concatenate([[-1e-6], np.arange(num + 1) / num])

    def draw(sums: np.ndarray) -> PlotData:
        negatives, positives = np.split(sums, 2)
        found = count_above(
            negatives, positives, np.where(thresholds == 0, 0, thresholds + _EPSILON)
        )
        data = PlotData()
        for threshold, tp, tn, fp, fn in zip(thresholds, *found, strict=True):
            precision, recall = _divide(tp, tp + fp, 1.0), _divide(tp, tp + fn, 0.0)
            data.confusion_matrix_at_thresholds.matrices.add(
                threshold=round(threshold, 6),
                true_positives=tp,
                true_negatives=tn,
                false_positives=fp,
                false_negatives=fn,
                precision=precision,
                recall=recall,
                f1=_divide(2 * precision * recall, precision + recall, 0.0),
                accuracy=_divide(tp + tn, tp + tn + fp + fn, 0.0),
                false_positive_rate=_divide(fp, fp + tn, 0.0),
                false_omission_rate=_divide(fn, fn + tn, np.nan),
            )
        return data

    return histogram(), draw


def _divide(numerator: float, denominator: float, otherwise: float) -> float:
    return numerator / denominator if denominator > 0 else otherwise


def _calibration(settings: Settings) -> tuple[Statistic, Draw]:
    """Labels and predictions by the bucket of the prediction."""
    left, right = float(settings.get("left") or 0.0), settings.get("right")
    right = 1.0 if right is None else float(right)
    num = settings.get("num_buckets") or _NUM_STEPS
    edges = left + np.arange(num + 1) * (right - left) / num
    width = NUM_BUCKETS + 2
    starts = np.arange(-1, NUM_BUCKETS + 1) / NUM_BUCKETS * (right - left) + left
    starts[0], starts[-1] = -np.inf, np.inf
    bins = np.searchsorted(edges, starts, side="right")

    def cells(batch: Scored) -> Cells:
        labels, predictions = pairs(batch, "CalibrationPlot")
        scaled = (predictions - left) / (right - left) * NUM_BUCKETS + 1
        buckets = np.clip(scaled, 0, NUM_BUCKETS + 1).astype(np.int64)
        weights = np.broadcast_to(batch.weights[:, None], labels.shape)
        columns = np.concatenate([buckets, width + buckets, 2 * width + buckets], axis=1)
        parts = [weights * labels, weights * predictions, weights]
        return columns, np.concatenate(parts, axis=1)

    def draw(sums: np.ndarray) -> PlotData:
        data = PlotData()
        parts = [np.bincount(bins, part, num + 2) for part in np.split(sums, 3)]
        limits = [-np.inf, *edges, np.inf]
        for lower, upper, labels, predictions, weights in zip(
            limits[:-1], limits[1:], *parts, strict=True
        ):
            data.calibration_histogram_buckets.buckets.add(
                lower_threshold_inclusive=lower,
                upper_threshold_exclusive=upper,
                num_weighted_examples={"value": weights},
                total_weighted_label={"value": labels},
                total_weighted_refined_prediction={"value": predictions},
            )
        return data

    return Statistic(f"calibration {left} {right}", 3 * width, cells), draw


def _class_confusion(_: Settings) -> tuple[Statistic, Draw]:
    """How often each class was taken for each; a score of zero is for no class."""
    width = _MAX_CLASSES + 1

    def cells(batch: Scored) -> Cells:
        if batch.predictions.ndim != 2 or batch.predictions.shape[1] > _MAX_CLASSES:
            raise BadData(
                f"MultiClassConfusionMatrixPlot takes a score for each of at most {_MAX_CLASSES} "
                f"classes, and the predictions have the shape {list(batch.predictions.shape)}."
                " Leave the plot out."
            )
        actual = (
            batch.labels.argmax(axis=1)
            if batch.labels.ndim == 2
            else class_ids(batch, "MultiClassConfusionMatrixPlot")
        )
        predicted = np.where(
            batch.predictions.max(axis=1) > 0, batch.predictions.argmax(axis=1) + 1, 0
        )
        return (actual * width + predicted)[:, None], batch.weights[:, None]

    def draw(sums: np.ndarray) -> PlotData:
        data = PlotData()
        matrix = data.multi_class_confusion_matrix_at_thresholds.matrices.add(threshold=0.0)
        for place in np.flatnonzero(sums):
            actual, predicted = divmod(int(place), width)
            matrix.entries.add(
                actual_class_id=actual,
                predicted_class_id=predicted - 1,
                num_weighted_examples=sums[place],
            )
        return data

    return Statistic("class confusion", _MAX_CLASSES * width, cells), draw


PLOTS: dict[str, Callable[[Settings], tuple[Statistic, Draw]]] = {
    "ConfusionMatrixPlot": _confusion_matrices,
    "CalibrationPlot": _calibration,
    "MultiClassConfusionMatrixPlot": _class_confusion,
}
"""By class name: how the plot is made of its settings."""
SETTINGS: dict[str, tuple[str, ...]] = {
    "ConfusionMatrixPlot": ("num_thresholds",),
    "CalibrationPlot": ("num_buckets", "left", "right"),
}
SHARED_NAMES = ("confusion_matrix_plot", "calibration_plot")
"""Plots of these names are parts of one message without a name, as TFMA has it."""
