# SPDX-License-Identifier: Apache-2.0
"""`tfma.post_export_metrics`, where TFMA is not installed: metrics of today under older names.

tfma.default_eval_shared_model(path, add_metrics_callbacks=[tfma.post_export_metrics.auc()])
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from stoker.stand_ins.tfma.metrics import NamedMetric
from stoker.stand_ins.tfma.names import needs_tfma

DEFAULT_PREFIX = "post_export_metrics"
_CLASSES = {
    "example_count": "ExampleCount",
    "example_weight": "WeightedExampleCount",
    "auc": "AUC",
    "auc_plots": "ConfusionMatrixPlot",
    "calibration": "Calibration",
    "calibration_plot_and_prediction_histogram": "CalibrationPlot",
    "mean_absolute_error": "MeanAbsoluteError",
    "mean_squared_error": "MeanSquaredError",
    "root_mean_squared_error": "RootMeanSquaredError",
    "squared_pearson_correlation": "SquaredPearsonCorrelation",
    "fairness_indicators": "FairnessIndicators",
}
_PLOTS = ("auc_plots", "calibration_plot_and_prediction_histogram")
_KEPT = ("curve", "num_buckets", "thresholds")
"""Settings that the metrics of today have too; keys of labels and weights are the model's."""


def _make(name: str, *_: Any, **given: Any) -> NamedMetric:
    settings = {key: value for key, value in given.items() if key in _KEPT and value is not None}
    if name == "fairness_indicators":
        settings["name"] = DEFAULT_PREFIX
    elif name not in _PLOTS:
        is_precision_recall = settings.get("curve") == "PR"
        settings["name"] = f"{DEFAULT_PREFIX}/{'auprc' if is_precision_recall else name}"
    return NamedMetric(_CLASSES[name], settings)


def __getattr__(name: str) -> Callable[..., NamedMetric]:
    """What makes a metric."""
    if name in _CLASSES:
        return partial(_make, name)
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise needs_tfma(f"tensorflow_model_analysis.post_export_metrics.{name}")
