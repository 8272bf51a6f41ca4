# SPDX-License-Identifier: Apache-2.0
"""Stoker's own engine: batches of examples with predictions in, the metrics of each slice out.

It reads the examples once, and keeps sums: memory grows with slices, never with examples.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import BoolValue, Int32Value

from stoker.any_python.lines import did_you_mean
from stoker.dsl.proto.eval_config_pb2 import EvalConfig, ModelSpec
from stoker.dsl.proto.evaluation_pb2 import PlotData
from stoker.errors import BadData
from stoker.evaluation.accumulators import RecordStatistic, Scored, Statistic
from stoker.evaluation.compiled import Compiled
from stoker.evaluation.config import is_weighted
from stoker.evaluation.features import Features, column, labels_of, refuse_nan
from stoker.evaluation.metrics import Metric, NeedsTfma, make_metrics, make_plots
from stoker.evaluation.plots import Plot
from stoker.evaluation.slices import SliceKey, Slicer, tell_of_missing_features

_USUAL_OUTPUTS = ("scores", "outputs", "predictions", "logistic", "probabilities", "logits")
_ONLY_TFMA = frozenset(
    [
        "EvalConfig.cross_slicing_specs",
        "ModelSpec.label_keys",
        "ModelSpec.prediction_keys",
        "ModelSpec.example_weight_keys",
        "ModelSpec.padding_options",
        "SlicingSpec.slice_keys_sql",
        "MetricsSpec.output_names",
        "MetricsSpec.output_weights",
        "MetricsSpec.binarize",
        "MetricsSpec.aggregate",
        "MetricsSpec.query_key",
        "MetricsSpec.cross_slice_thresholds",
        "MetricConfig.cross_slice_thresholds",
        "Options.compute_confidence_intervals",
        "Options.min_slice_size",
        "Options.disabled_outputs",
    ]
)


class MetricId(NamedTuple):
    """Which number this is: a metric of a model, or its difference from the baseline's."""

    name: str
    model: str = ""
    weighted: bool = False
    is_diff: bool = False
    top_k: int = 0
    """Of how many classes the scores count; of all where it is 0."""

    @property
    def shown(self) -> str:
        """The name for people."""
        return f"{self.name}@{self.top_k}" if self.top_k else self.name


Measured = dict[SliceKey, dict[MetricId, float]]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some examples: their features, with what preprocessing added, and each model's outputs."""

    features: Mapping[str, Features]
    outputs: Mapping[str, Mapping[str, np.ndarray]]
    records: Sequence[bytes]

    @property
    def num_rows(self) -> int:
        """How many examples there are."""
        return len(self.records)


Drawn = dict[SliceKey, dict[MetricId, PlotData]]


class Planned(NamedTuple):
    """A metric to compute, and whether example weights count."""

    metric: Metric
    weighted: bool


class PlannedPlot(NamedTuple):
    """A plot to draw, and whether example weights count."""

    plot: Plot
    weighted: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What to compute: each metric once for each model that it is asked of."""

    config: EvalConfig
    metrics: dict[MetricId, Planned]
    plots: dict[tuple[MetricId, int], PlannedPlot]
    """By what they are of; several may become parts of one message."""


def make_plan(config: EvalConfig, compiled: Mapping[str, Compiled] | None = None) -> Plan:
    """The metrics of a configuration that has its defaults; NeedsTfma for what is not plain.

    `compiled` has those that the models bring, by the models' names.
    """
    brought = {
        MetricId(metric.name, model): Planned(metric, weighted)
        for model, one in (compiled or {}).items()
        for metric, weighted in one.metrics
    }
    metrics, plots = {**brought, **list_metrics(config)}, list_plots(config)
    if not metrics and not plots:
        raise ValueError(
            "eval_config names no metric, and the model was saved with none (only model.save of "
            "Keras 2 keeps those of compile()). Name some in metrics_specs, such as "
            "MetricConfig(class_name='BinaryAccuracy')."
        )
    return Plan(config, metrics, plots)


def list_metrics(config: EvalConfig) -> dict[MetricId, Planned]:
    """The metrics that a configuration names; NeedsTfma for what is not plain."""
    _check_plain(config)
    return {
        MetricId(metric.name, model.name, weighted, top_k=metric.top_k): Planned(metric, weighted)
        for spec in config.metrics_specs
        for named in spec.metrics
        for metric in make_metrics(named)
        for model in config.model_specs
        for weighted in is_weighted(config, spec)
    }


def list_plots(config: EvalConfig) -> dict[tuple[MetricId, int], PlannedPlot]:
    """The plots that a configuration names."""
    plots = [
        (MetricId(plot.name, model.name, weighted), PlannedPlot(plot, weighted))
        for spec in config.metrics_specs
        for named in spec.metrics
        for plot in make_plots(named)
        for model in config.model_specs
        for weighted in is_weighted(config, spec)
    ]
    return {(key, number): planned for number, (key, planned) in enumerate(plots)}


def _check_plain(config: EvalConfig) -> None:
    """Refuse the fields that only TFMA knows."""
    parts: list[Message] = [config, config.options, *config.model_specs, *config.slicing_specs]
    for spec in config.metrics_specs:
        parts += [spec, *spec.metrics]
    for part in parts:
        for field, value in part.ListFields():
            name = f"{part.DESCRIPTOR.name}.{field.name}"
            if name in _ONLY_TFMA and value not in (BoolValue(value=False), Int32Value(value=0)):
                raise NeedsTfma(name)


def measure(plan: Plan, batches: Iterable[Batch]) -> Measured:
    """The metrics of every slice that the examples have."""
    measured, _ = measure_and_draw(plan, batches)
    return measured


def measure_and_draw(plan: Plan, batches: Iterable[Batch]) -> tuple[Measured, Drawn]:
    """The metrics and the plots of every slice that the examples have."""
    return draw(plan, sum_up(plan, batches))


_StatisticKey = tuple[str, bool, str]
"""A model, whether it is weighted, and which statistic."""


@dataclass(slots=True, kw_only=True)
class Sums:
    """What some examples add up to. It can be pickled, and merged with that of others."""

    num_examples: int
    known: set[str]
    """The features that they have."""
    slices: list[SliceKey]
    totals: dict[_StatisticKey, np.ndarray]
    """The sums of each statistic, a row for each slice."""

    def merge(self, other: "Sums") -> None:
        """Add what others add up to."""
        self.num_examples += other.num_examples
        self.known |= other.known
        self.slices = list(dict.fromkeys([*self.slices, *other.slices]))
        places = {key: place for place, key in enumerate(self.slices)}
        rows = [places[key] for key in other.slices]
        for name, more in other.totals.items():
            missing = len(places) - len(self.totals[name])
            self.totals[name] = np.pad(self.totals[name], ((0, missing), (0, 0)))
            self.totals[name][rows] += more


def draw(plan: Plan, sums: Sums) -> tuple[Measured, Drawn]:
    """The metrics and the plots of every slice, from what all examples add up to."""
    if not sums.num_examples:
        raise BadData("There are no examples to evaluate. Name other example_splits.")
    tell_of_missing_features(plan.config.slicing_specs, sums.known)
    totals = sums.totals
    measured: Measured = {}
    drawn: Drawn = {}
    for index, key in enumerate(sums.slices):
        measured[key] = {
            one: metric.formula(totals[one.model, weighted, metric.statistic.key][index])
            for one, (metric, weighted) in plan.metrics.items()
        }
        for (one, _), (plot, weighted) in plan.plots.items():
            row = totals[one.model, weighted, plot.statistic.key][index]
            drawn.setdefault(key, {}).setdefault(one, PlotData()).MergeFrom(plot.draw(row))
    return _add_differences(plan, measured), drawn


def sum_up(plan: Plan, batches: Iterable[Batch]) -> Sums:
    """The sums of each statistic over some examples."""
    slicer = Slicer(plan.config.slicing_specs)
    specs = {spec.name: spec for spec in plan.config.model_specs}
    statistics = _list_statistics(plan)
    totals = {key: np.zeros((0, statistic.width)) for key, statistic in statistics.items()}
    num_examples = 0
    for batch in batches:
        num_examples += batch.num_rows
        # Slices are by the features of the model that is judged, which comes first.
        features = batch.features[plan.config.model_specs[0].name]
        members = slicer.members(features, batch.num_rows)
        scored: dict[tuple[str, bool], Scored] = {}
        for key, statistic in statistics.items():
            if missing := len(slicer.keys) - len(totals[key]):
                totals[key] = np.pad(totals[key], ((0, missing), (0, 0)))
            if isinstance(statistic, RecordStatistic):
                statistic.add(totals[key], batch.records, *members)
                continue
            model, weighted, _ = key
            if (model, weighted) not in scored:
                scored[model, weighted] = _score(specs[model], batch, weighted=weighted)
            statistic.add(totals[key], scored[model, weighted], *members)
    return Sums(num_examples=num_examples, known=slicer.known, slices=slicer.keys, totals=totals)


def _list_statistics(plan: Plan) -> dict[_StatisticKey, Statistic | RecordStatistic]:
    statistics: dict[_StatisticKey, Statistic | RecordStatistic] = {
        (key.model, weighted, metric.statistic.key): metric.statistic
        for key, (metric, weighted) in plan.metrics.items()
    }
    for (drawn_of, _), (plot, weighted) in plan.plots.items():
        statistics[drawn_of.model, weighted, plot.statistic.key] = plot.statistic
    return statistics


def _score(spec: ModelSpec, batch: Batch, *, weighted: bool) -> Scored:
    features = batch.features[spec.name]
    if not spec.label_key:
        raise ValueError(
            "eval_config.model_specs names no label_key. Name the feature that is the label; the "
            f"examples have {', '.join(sorted(features)) or 'none'}."
        )
    weights = np.ones(batch.num_rows)
    if weighted and spec.example_weight_key:
        weights = column(features, spec.example_weight_key, "example weight").astype(np.float64)
        if weights.ndim > 1:
            raise BadData(
                f"The example weight {spec.example_weight_key!r} has several values per example; "
                "it should have one."
            )
    outputs = batch.outputs[spec.name]
    labels = labels_of(features, spec.label_key, outputs)
    return Scored(labels, _choose_prediction(spec, outputs), weights)


def _choose_prediction(spec: ModelSpec, outputs: Mapping[str, np.ndarray]) -> np.ndarray:
    chosen = spec.prediction_key or next(
        (name for name in _USUAL_OUTPUTS if name in outputs),
        next(iter(outputs)) if len(outputs) == 1 else "",
    )
    if len(outputs) == 1 and chosen not in outputs:
        (chosen,) = outputs
    if chosen not in outputs:
        raise ValueError(
            f"Which output of the model is the prediction? {chosen!r} is none of them."
            f"{did_you_mean(chosen, outputs)} Name one in ModelSpec.prediction_key: "
            f"{', '.join(sorted(outputs))}."
        )
    array = outputs[chosen]
    if array.dtype.kind not in "fiub":
        raise BadData(
            f"The model's output {chosen!r} is text, and metrics take numbers. Name another in "
            f"ModelSpec.prediction_key: {', '.join(sorted(outputs))}."
        )
    refuse_nan(array, f"The model's output {chosen!r}")
    while array.ndim > 1 and array.shape[-1] == 1:
        array = array[..., 0]
    if array.ndim > 2:
        raise BadData(
            f"The model's output {chosen!r} has the shape {list(array.shape)}. Metrics take one "
            "number per example, or one for each class."
        )
    return array


def _add_differences(plan: Plan, measured: Measured) -> Measured:
    """With a baseline: for each metric, how much the model has more of it."""
    baseline = next((spec.name for spec in plan.config.model_specs if spec.is_baseline), None)
    if baseline is None:
        return measured
    for values in measured.values():
        for key in [key for key in values if key.model != baseline]:
            other = key._replace(model=baseline)
            if other in values:
                values[key._replace(is_diff=True)] = values[key] - values[other]
    return measured
