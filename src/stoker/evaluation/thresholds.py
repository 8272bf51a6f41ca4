# SPDX-License-Identifier: Apache-2.0
"""The verdict: every metric with a threshold is held against it, in every slice it is meant for."""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stoker.any_python.lines import did_you_mean, say
from stoker.dsl.proto.eval_config_pb2 import (
    HIGHER_IS_BETTER,
    LOWER_IS_BETTER,
    MetricThreshold,
    SlicingSpec,
)
from stoker.dsl.proto.evaluation_pb2 import (
    MetricsValidationForSlice,
    SlicingDetails,
    ValidationResult,
)
from stoker.evaluation.config import is_weighted
from stoker.evaluation.engine import Measured, MetricId, Plan
from stoker.evaluation.metrics import name_of, top_k_of
from stoker.evaluation.results import metric_key, slice_key
from stoker.evaluation.slices import SliceKey, fits


class _Limit(NamedTuple):
    """A threshold of a metric, in the slices of a spec, or in all."""

    metric: MetricId
    spec: SlicingSpec | None
    threshold: MetricThreshold


def check_thresholds(plan: Plan) -> None:
    """Tell of thresholds of metrics that are not computed; refuse changes without a direction."""
    say_what_is_not_computed(
        [limit.metric.name for limit in _limits(plan) if not _is_computed(limit, plan)],
        {key.name for key in plan.metrics},
    )
    for limit in _limits(plan):
        change = limit.threshold.change_threshold
        if limit.metric.is_diff and change.direction not in (LOWER_IS_BETTER, HIGHER_IS_BETTER):
            raise ValueError(
                f"The change threshold of {limit.metric.name!r} has no direction. Say "
                "direction=MetricDirection.HIGHER_IS_BETTER, or LOWER_IS_BETTER."
            )


def say_what_is_not_computed(names: Iterable[str], computed: Iterable[str]) -> None:
    """Tell of thresholds that no metric is held against: the model fails them, as with TFMA."""
    known = sorted(computed)
    for name in dict.fromkeys(names):
        say(
            f"There is a threshold for the metric {name!r}, which is not computed: the model is "
            f"not blessed.{did_you_mean(name, known)} Those that are: {', '.join(known)}. Name it "
            "in MetricsSpec.metrics; only model.save of Keras 2 keeps the metrics of compile()."
        )


def _is_computed(limit: _Limit, plan: Plan) -> bool:
    """Whether a threshold's metric is computed, for every model that a change is between."""
    models = [one.name for one in plan.config.model_specs if limit.metric.is_diff]
    wanted = {limit.metric._replace(is_diff=False, model=model) for model in models}
    return plan.metrics.keys() >= {limit.metric._replace(is_diff=False), *wanted}


def validate(plan: Plan, measured: Measured, *, rubber_stamp: bool) -> ValidationResult:
    """Which thresholds fail in which slices; with `rubber_stamp`, no baseline is a first run."""
    limits = list(_limits(plan))
    result = ValidationResult(validation_ok=bool(limits) or rubber_stamp)
    result.missing_thresholds = not limits and not rubber_stamp
    result.rubber_stamp = rubber_stamp
    matches: dict[str, SlicingDetails] = {}
    for key, values in measured.items():
        of_slice = MetricsValidationForSlice(slice_key=slice_key(key))
        for spec in _hold(limits, key, values, of_slice):
            detail = matches.setdefault(str(spec), SlicingDetails(slicing_spec=spec))
            detail.num_matching_slices += 1
        if of_slice.failures:
            result.validation_ok = False
            result.metric_validations_per_slice.append(of_slice)
    result.validation_details.slicing_details.extend(matches.values())
    for limit in limits:
        spec = limit.spec or SlicingSpec()
        if str(spec) not in matches and spec not in result.missing_slices:
            result.missing_slices.append(spec)
            result.validation_ok = False
    return result


def _hold(
    limits: list[_Limit],
    key: SliceKey,
    values: dict[MetricId, float],
    of_slice: MetricsValidationForSlice,
) -> list[SlicingSpec]:
    """Note the failures of one slice; return the specs that it was checked for."""
    checked: dict[str, SlicingSpec] = {}
    for limit in limits:
        if limit.spec is not None and not fits(limit.spec, key):
            continue
        spec = limit.spec or SlicingSpec()
        checked[str(spec)] = spec
        value = values.get(limit.metric)
        if value is None or not _holds(limit, values):
            failure = of_slice.failures.add(metric_key=metric_key(limit.metric))
            failure.metric_threshold.CopyFrom(limit.threshold)
            if value is None:
                failure.message = "Metric not found."
            else:
                failure.metric_value.double_value.value = value
    return list(checked.values())


def _holds(limit: _Limit, values: dict[MetricId, float]) -> bool:
    value = values[limit.metric]
    if not limit.metric.is_diff:
        bounds = limit.threshold.value_threshold
        lowest = bounds.lower_bound.value if bounds.HasField("lower_bound") else -math.inf
        highest = bounds.upper_bound.value if bounds.HasField("upper_bound") else math.inf
        return lowest <= value <= highest
    before = values[limit.metric._replace(is_diff=False)] - value
    relative = math.nan if math.isclose(before, 0) else value / before
    least = limit.threshold.change_threshold
    sign = 1 if least.direction == HIGHER_IS_BETTER else -1
    return all(
        sign * found >= sign * getattr(least, kind).value
        for kind, found in (("absolute", value), ("relative", relative))
        if least.HasField(kind)
    )


def _limits(plan: Plan) -> Iterator[_Limit]:
    """Every threshold, a value's and a change's apart, of the model that is judged."""
    candidate = next(one.name for one in plan.config.model_specs if not one.is_baseline)
    for spec in plan.config.metrics_specs:
        for weighted in is_weighted(plan.config, spec):
            found: list[tuple[str, int, SlicingSpec | None, MetricThreshold]] = [
                (name, 0, None, one) for name, one in spec.thresholds.items()
            ]
            found += [
                (name, 0, where, one.threshold)
                for name, many in spec.per_slice_thresholds.items()
                for one in many.thresholds
                for where in one.slicing_specs
            ]
            for config in spec.metrics:
                name, top_k = name_of(config), top_k_of(config)
                if config.HasField("threshold"):
                    found.append((name, top_k, None, config.threshold))
                found += [
                    (name, top_k, where, one.threshold)
                    for one in config.per_slice_thresholds
                    for where in one.slicing_specs
                ]
            for name, top_k, where, threshold in found:
                key = MetricId(name, candidate, weighted, top_k=top_k)
                if key not in plan.metrics:  # what a model brings is told apart from weighted ones
                    key = MetricId(name, candidate)
                if threshold.HasField("value_threshold"):
                    own = MetricThreshold(value_threshold=threshold.value_threshold)
                    yield _Limit(key, where, own)
                if threshold.HasField("change_threshold"):
                    own = MetricThreshold(change_threshold=threshold.change_threshold)
                    yield _Limit(key._replace(is_diff=True), where, own)
