# SPDX-License-Identifier: Apache-2.0
"""The metrics that a model was compiled with, as the file tells that Keras 2 saves with it.

They are computed as Keras does: AUC at its own thresholds, 0 where a ratio has no denominator, the
loss as the sum of weighted losses by the number of examples.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stoker.dsl.proto.eval_config_pb2 import MetricConfig
from stoker.dsl.proto.keras_metadata_pb2 import KerasMetadata
from stoker.evaluation.accumulators import Statistic, between_thresholds, totals_of
from stoker.evaluation.areas import area_at_thresholds
from stoker.evaluation.metrics import Metric, NeedsTfma, make_metric

_METADATA = "keras_metadata.pb"
_SHORT_NAMES = {
    "mse": "MeanSquaredError",
    "mae": "MeanAbsoluteError",
    "mape": "MeanAbsolutePercentageError",
    "msle": "MeanSquaredLogarithmicError",
}
_WRAPPERS = ("MeanMetricWrapper", "LossFunctionWrapper")
_KERAS_THRESHOLDS = 200


@dataclass(frozen=True, slots=True)
class Compiled:
    """Metrics, each with whether example weights count, and the names of those unknown here."""

    metrics: tuple[tuple[Metric, bool], ...] = ()
    unknown: tuple[str, ...] = ()


def read_compiled(folder: str) -> Compiled:
    """The metrics of the model in a folder; none, if Keras 2 did not save it or compile it."""
    metrics: list[tuple[Metric, bool]] = []
    unknown: list[str] = []
    for given, is_weighted, is_loss in _parts(_training_config(folder)):
        try:
            metric = _metric(given)
        except (NeedsTfma, ValueError):
            unknown.append("loss" if is_loss else _name(given))
        else:
            metrics.append((_as_loss(metric) if is_loss else metric, is_weighted))
    return Compiled(tuple(metrics), tuple(unknown))


def _training_config(folder: str) -> Mapping[str, Any]:
    path = Path(folder, _METADATA)
    if not path.is_file():
        return {}
    for node in KerasMetadata.FromString(path.read_bytes()).nodes:
        if node.node_path == "root":
            found: Mapping[str, Any] = json.loads(node.metadata).get("training_config") or {}
            return found
    return {}


def _parts(config: Mapping[str, Any]) -> Iterator[tuple[Any, bool, bool]]:
    """Each metric, and the loss: as it is written, whether it is weighted, whether the loss."""
    for key, is_weighted in (("metrics", False), ("weighted_metrics", True)):
        for one in _flat(config.get(key)):
            yield one, is_weighted, False
    if config.get("loss"):
        yield config["loss"], True, True


def _flat(given: Any) -> Iterator[Any]:
    """Metrics are lists in lists where a model could have several outputs."""
    if isinstance(given, list):
        for one in given:
            yield from _flat(one)
    elif given:
        yield given


def _name(given: Any) -> str:
    if isinstance(given, Mapping):
        return str(given.get("config", {}).get("name") or given.get("class_name") or "?")
    return str(given)


def _metric(given: Any) -> Metric:
    """A metric of a function's name, or of a class with its settings."""
    if isinstance(given, str):
        given = {"class_name": "MeanMetricWrapper", "config": {"name": given, "fn": given}}
    if not isinstance(given, Mapping) or "class_name" not in given:
        raise NeedsTfma("the metrics of several outputs")
    settings = {**given["config"]}
    class_name, function = given["class_name"], settings.pop("fn", None)
    if class_name in _WRAPPERS:
        class_name = _class_of_function(str(function))
    if class_name == "Accuracy":
        raise NeedsTfma("accuracy, before Keras knows of which kind")
    metric = make_metric(MetricConfig(class_name=class_name, config=json.dumps(settings)))
    return _as_keras(metric, class_name, settings)


def _class_of_function(name: str) -> str:
    words = re.split("_", name)
    return _SHORT_NAMES.get(name) or "".join(word.capitalize() for word in words)


def _as_keras(metric: Metric, class_name: str, settings: Mapping[str, Any]) -> Metric:
    if class_name == "AUC":
        curve, method = settings.get("curve") or "ROC", settings.get("summation_method")
        return Metric(
            metric.name,
            between_thresholds(settings.get("num_thresholds") or _KERAS_THRESHOLDS),
            lambda sums: area_at_thresholds(sums, curve, method or "interpolation"),
        )
    if metric.statistic.key.startswith("confusion"):
        ratio = metric.formula
        return replace(metric, formula=lambda sums: 0.0 if math.isnan(v := ratio(sums)) else v)
    return metric


def _as_loss(metric: Metric) -> Metric:
    """The sum of weighted losses by the number of examples, under the name that Keras gives it."""
    assert isinstance(metric.statistic, Statistic)
    cells = metric.statistic.cells
    statistic = totals_of(
        f"loss {metric.statistic.key}",
        lambda batch: cells(batch)[1][:, 0],
        lambda batch: cells(replace(batch, weights=batch.weights * 0 + 1))[1][:, 1],
    )
    return Metric("loss", statistic, metric.formula)
