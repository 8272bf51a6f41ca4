# SPDX-License-Identifier: Apache-2.0
"""`tfma.metrics`, where TFMA is not installed: metrics as objects, and specs that are made of them.

tfma.metrics.specs_from_metrics([tfma.metrics.ExampleCount(), tf.keras.metrics.AUC(name="auc")])
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stoker.dsl.proto.eval_config_pb2 import (
    AggregationOptions,
    BinarizationOptions,
    MetricConfig,
    MetricsSpec,
)
from stoker.evaluation.metrics import is_metric
from stoker.stand_ins.tfma.names import needs_tfma


@dataclass(frozen=True)
class NamedMetric:
    """A metric of TFMA by its class, and what it was made with."""

    class_name: str
    settings: Mapping[str, Any]

    def as_config(self) -> MetricConfig:
        """The metric as an EvalConfig has it."""
        text = json.dumps(dict(self.settings)) if self.settings else ""
        return MetricConfig(class_name=self.class_name, config=text)


def specs_from_metrics(
    metrics: Any,
    model_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    output_weights: Mapping[str, float] | None = None,
    binarize: BinarizationOptions | None = None,
    aggregate: AggregationOptions | None = None,
    example_weights: Any = None,
    query_key: str | None = None,
    include_example_count: bool | None = None,
    include_weighted_example_count: bool | None = None,
    **_: Any,
) -> list[MetricsSpec]:
    """The specs of some metrics, of TFMA's or of Keras; a dict has them by the model's outputs."""
    if isinstance(metrics, Mapping):
        return [
            spec
            for output, some in metrics.items()
            for spec in specs_from_metrics(some, model_names, [output], binarize=binarize)
        ]
    counts = [
        MetricConfig(class_name=name)
        for name, wanted in (
            ("ExampleCount", include_example_count),
            ("WeightedExampleCount", include_weighted_example_count),
        )
        if wanted
    ]
    return [
        MetricsSpec(
            metrics=[*map(_as_config, metrics), *counts],
            model_names=model_names,
            output_names=output_names,
            output_weights=output_weights,
            binarize=binarize,
            aggregate=aggregate,
            example_weights=example_weights,
            query_key=query_key,
        )
    ]


def default_regression_specs(
    model_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None, **_: Any
) -> list[MetricsSpec]:
    """What TFMA computes for a regression by default, as far as Stoker has it."""
    return _make_specs(
        ("MeanSquaredError", "Calibration", "MeanPrediction", "MeanLabel"),
        model_names,
        output_names,
    )


def default_binary_classification_specs(
    model_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    binarize: BinarizationOptions | None = None,
    aggregate: AggregationOptions | None = None,
    include_loss: bool = True,
) -> list[MetricsSpec]:
    """What TFMA computes for two classes by default, as far as Stoker has it."""
    names = [
        *(["BinaryCrossentropy"] if include_loss else []),
        *("BinaryAccuracy", "AUC", "Precision", "Recall", "Calibration"),
        *("MeanPrediction", "MeanLabel", "ConfusionMatrixPlot", "CalibrationPlot"),
    ]
    return _make_specs(names, model_names, output_names, binarize=binarize, aggregate=aggregate)


def default_multi_class_classification_specs(
    model_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    binarize: BinarizationOptions | None = None,
    aggregate: AggregationOptions | None = None,
    sparse: bool = True,
) -> list[MetricsSpec]:
    """What TFMA computes for several classes by default, as far as Stoker has it."""
    loss = "SparseCategoricalCrossentropy" if sparse else "CategoricalCrossentropy"
    specs = _make_specs((loss, "MultiClassConfusionMatrixPlot"), model_names, output_names)
    if binarize is None and aggregate is None:
        return specs
    return specs + default_binary_classification_specs(
        model_names, output_names, binarize, aggregate, include_loss=False
    )


def _make_specs(
    class_names: Iterable[str],
    model_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
    **options: Any,
) -> list[MetricsSpec]:
    metrics = [MetricConfig(class_name=name) for name in class_names]
    return [
        MetricsSpec(metrics=metrics, model_names=model_names, output_names=output_names, **options)
    ]


def _as_config(metric: Any) -> MetricConfig:
    if isinstance(metric, NamedMetric):
        return metric.as_config()
    settings = {key: value for key, value in metric.get_config().items() if key != "dtype"}
    return MetricConfig(class_name=type(metric).__name__, config=json.dumps(settings, default=str))


def __getattr__(name: str) -> Any:
    """A class of metrics by its name."""
    if is_metric(name):
        return lambda **settings: NamedMetric(name, settings)
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise needs_tfma(f"tensorflow_model_analysis.metrics.{name}")
