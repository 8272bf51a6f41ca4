# SPDX-License-Identifier: Apache-2.0
"""The area under a curve, from a histogram of predictions: what AUC is."""

from collections.abc import Callable

import numpy as np

from stoker.evaluation.accumulators import NUM_BUCKETS

Matrices = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""tp, tn, fp, fn at each threshold."""

_EPSILON = 1e-7
_HEIGHTS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "interpolation": lambda left, right: (left + right) / 2,
    "minoring": np.minimum,
    "majoring": np.maximum,
}


def area_under_curve(sums: np.ndarray, num_thresholds: int, curve: str, method: str) -> float:
    """The area under the ROC or the PR curve, at so many thresholds from 0 to 1."""
    negatives, positives = np.split(sums, 2)
    return _area(_matrices(negatives, positives, num_thresholds), curve, method)


def area_at_thresholds(sums: np.ndarray, curve: str, method: str) -> float:
    """The area under a curve from sums between the thresholds themselves, as Keras has them."""
    negatives, positives = np.split(sums, 2)
    tp, fp = np.cumsum(positives[::-1])[::-1], np.cumsum(negatives[::-1])[::-1]
    return _area((tp, negatives.sum() - fp, fp, positives.sum() - tp), curve, method)


def _area(matrices: Matrices, curve: str, method: str) -> float:
    if curve not in ("ROC", "PR") or method not in _HEIGHTS:
        raise ValueError(
            f"AUC takes the curves ROC and PR, and the summation methods {', '.join(_HEIGHTS)}; "
            f"got {curve!r} and {method!r}."
        )
    tp, tn, fp, fn = matrices
    with np.errstate(divide="ignore", invalid="ignore"):
        if curve == "PR" and method == "interpolation":
            return _interpolated_precision(tp, fp, fn)
        recall = np.nan_to_num(tp / (tp + fn))
        if curve == "ROC":
            x, y = np.nan_to_num(fp / (fp + tn)), recall
        else:
            x, y = recall, np.nan_to_num(tp / (tp + fp))
    heights = _HEIGHTS[method](y[:-1], y[1:])
    return float(np.nansum((x[:-1] - x[1:]) * heights))


def _matrices(negatives: np.ndarray, positives: np.ndarray, num_thresholds: int) -> Matrices:
    """Confusion matrices at evenly spaced thresholds."""
    inner = np.arange(1, num_thresholds - 1) / (num_thresholds - 1)
    thresholds = np.concatenate([[-_EPSILON], inner, [1 + _EPSILON]]) + _EPSILON
    tp, tn, fp, fn = count_above(negatives, positives, thresholds)
    tp[-1] = fp[-1] = 0
    fn[-1], tn[-1] = tp[0], fp[0]
    return tp, tn, fp, fn


def count_above(negatives: np.ndarray, positives: np.ndarray, thresholds: np.ndarray) -> Matrices:
    """Confusion matrices at thresholds, from TFMA's histogram of each kind of label."""
    num = len(thresholds)
    starts = np.concatenate([[-np.inf], np.arange(NUM_BUCKETS) / NUM_BUCKETS, [np.inf]])
    bins = np.searchsorted(thresholds[1:], starts, side="right")
    positive, negative = np.bincount(bins, positives, num), np.bincount(bins, negatives, num)
    tp, fp = np.cumsum(positive[::-1])[::-1], np.cumsum(negative[::-1])[::-1]
    fn, tn = np.cumsum(positive) - positive, np.cumsum(negative) - negative
    return tp, tn, fp, fn


def _interpolated_precision(tp: np.ndarray, fp: np.ndarray, fn: np.ndarray) -> float:
    """Davis and Goadrich (2006): between two thresholds, precision is not linear in recall."""
    yes = tp + fp
    slope = (tp[:-1] - tp[1:]) / np.maximum(yes[:-1] - yes[1:], 0)
    intercept = tp[1:] - slope * yes[1:]
    ratio = np.divide(yes[:-1], yes[1:], out=np.ones(len(yes) - 1), where=yes[1:] != 0)
    steps = slope * (tp[:-1] - tp[1:] + intercept * np.log(ratio))
    return float(np.nansum(steps / np.maximum(tp[1:] + fn[1:], 0)))
