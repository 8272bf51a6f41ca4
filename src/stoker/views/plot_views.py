# SPDX-License-Identifier: Apache-2.0
"""Plots of an evaluation as charts: how right a model is at each threshold, and how calibrated."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stoker.views.charts import line_chart
from stoker.views.markup import card
from stoker.views.table import Table, readable_number

Points = Sequence[tuple[float, float]]

_THRESHOLDS = (0.1, 0.25, 0.5, 0.75, 0.9)
_COLUMNS = ("precision", "recall", "f1", "accuracy", "falsePositiveRate")
_NOTHING = Table(columns=[], rows=[])


def draw_plots(data: Mapping[str, Any]) -> tuple[Table, list[str]]:
    """A table of some of the numbers, and a card for each chart; `data` is a PlotData as JSON."""
    charts: list[str] = []
    table = _NOTHING
    if matrices := data.get("confusionMatrixAtThresholds", {}).get("matrices"):
        charts += _draw_thresholds(matrices)
        table = _list_thresholds(matrices)
    if buckets := data.get("calibrationHistogramBuckets", {}).get("buckets"):
        charts += _draw_calibration(buckets)
    for found in data.get("multiClassConfusionMatrixAtThresholds", {}).get("matrices", []):
        table = _list_classes(found.get("entries", []))
    return table, charts


def _draw_thresholds(matrices: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    def points(x: str, y: str) -> Points:
        found = ((_number(one, x), _number(one, y)) for one in matrices)
        return [point for point in found if point[0] >= 0]  # the first threshold is just below

    for title, x, y in (
        ("ROC curve", "falsePositiveRate", "recall"),
        ("Precision and recall", "recall", "precision"),
        ("Accuracy by threshold", "threshold", "accuracy"),
        ("F1 by threshold", "threshold", "f1"),
    ):
        chart = line_chart(points(x, y), _word(x))
        yield card(title, f"{_word(y)} by {_word(x)}", chart, _NOTHING)


def _draw_calibration(buckets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Over ten parts of the range of predictions, since few buckets have many examples."""
    groups: dict[int, tuple[float, float, float]] = {}
    for place, one in enumerate(buckets):
        part = min(9, max(0, (place - 1) * 10 // max(1, len(buckets) - 2)))
        weight, label, prediction = groups.get(part, (0.0, 0.0, 0.0))
        groups[part] = (
            weight + _number(one, "numWeightedExamples"),
            label + _number(one, "totalWeightedLabel"),
            prediction + _number(one, "totalWeightedRefinedPrediction"),
        )
    filled = [one for _, one in sorted(groups.items()) if one[0]]
    calibration = [(prediction / weight, label / weight) for weight, label, prediction in filled]
    chart = line_chart(calibration, "prediction", diagonal=True)
    yield card("Calibration", "mean label by mean prediction", chart, _NOTHING)
    counts = [(prediction / weight, weight) for weight, _, prediction in filled]
    chart = line_chart(counts, "prediction")
    yield card("Predictions", "examples by prediction", chart, _NOTHING)


def _list_thresholds(matrices: Sequence[Mapping[str, Any]]) -> Table:
    rows = []
    for threshold in _THRESHOLDS:
        one = min(matrices, key=lambda found: abs(_number(found, "threshold") - threshold))
        numbers = (readable_number(_number(one, name)) for name in _COLUMNS)
        rows.append((f"{threshold:g}", *numbers))
    return Table(columns=("threshold", *map(_word, _COLUMNS)), rows=rows)


def _list_classes(entries: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each class that is right, a column for each that was said."""
    counts = {
        (one.get("actualClassId", 0), one.get("predictedClassId", 0)): _number(
            one, "numWeightedExamples"
        )
        for one in entries
    }
    classes = sorted({one for pair in counts for one in pair})
    rows = [
        (str(actual), *(readable_number(counts.get((actual, one), 0.0)) for one in classes))
        for actual in classes
        if actual >= 0
    ]
    said = ("no class" if one < 0 else f"said {one}" for one in classes)
    return Table(columns=("class", *said), rows=rows)


def _number(message: Mapping[str, Any], name: str) -> float:
    """A field of a message as JSON, where zero is left out and infinity is text."""
    return float(message.get(name, 0.0))


def _word(name: str) -> str:
    return "false positive rate" if name == "falsePositiveRate" else name
