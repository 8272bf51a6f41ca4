# SPDX-License-Identifier: Apache-2.0
"""An evaluation in words and tables: what a reader wants to know first."""

from collections.abc import Iterator

from stoker.dsl.proto.eval_config_pb2 import HIGHER_IS_BETTER, MetricThreshold
from stoker.dsl.proto.evaluation_pb2 import ValidationResult
from stoker.evaluation.engine import Measured, MetricId
from stoker.evaluation.results import read_metric_key, read_slice_key, sort_slices
from stoker.evaluation.slices import describe_slice

_FEW_SLICES = 12


def summarize(measured: Measured, validation: ValidationResult | None) -> Iterator[str]:
    """Lines for the end of the step: the metrics of all examples, then the verdict."""
    for key, values in sort_slices(measured)[:1]:
        others = f" ({len(measured) - 1} slices more)" if len(measured) > 1 else ""
        yield f"Metrics of {describe_slice(key)}{others}:"
        width = max((len(metric_name(one)) for one in values), default=0)
        yield from (f"  {metric_name(one):{width}}  {value:.6g}" for one, value in values.items())
    if validation is None or validation.missing_thresholds:
        yield "There are no thresholds: the model is neither blessed nor rejected."
        return
    failed = list(failures(validation))
    yield from failed[:_FEW_SLICES]
    if len(failed) > _FEW_SLICES:
        yield f"… and {len(failed) - _FEW_SLICES} more: `stoker show` lists all."
    if validation.rubber_stamp and validation.validation_ok:
        yield "No baseline model yet: change thresholds were not checked."
    yield "All thresholds met." if validation.validation_ok else "Not all thresholds met."


def failures(validation: ValidationResult) -> Iterator[str]:
    """Each threshold that does not hold, and where."""
    for of_slice in validation.metric_validations_per_slice:
        where = describe_slice(read_slice_key(of_slice.slice_key))
        for failure in of_slice.failures:
            name = metric_name(read_metric_key(failure.metric_key))
            value = failure.metric_value.double_value.value
            found = "not computed" if failure.message else f"{value:.6g}"
            yield (
                f"{name} of {where} is {found}, and should be "
                f"{_describe_bounds(failure.metric_threshold)}."
            )
    for spec in validation.missing_slices:
        wanted = [*spec.feature_keys, *(f"{k}={v}" for k, v in spec.feature_values.items())]
        yield f"There is a threshold for the slices {', '.join(wanted)}, but no such slice."


def metrics_table(measured: Measured) -> tuple[list[str], list[list[str]]]:
    """Columns and rows: a row for each slice, a column for each metric."""
    slices = sort_slices(measured)
    keys = list(dict.fromkeys(key for _, values in slices for key in values))
    rows = [
        [describe_slice(key), *(f"{values[one]:.6g}" if one in values else "" for one in keys)]
        for key, values in slices
    ]
    return ["slice", *map(metric_name, keys)], rows


def metric_name(key: MetricId) -> str:
    """A metric with the model that it is of, if there are two."""
    if key.is_diff:
        return f"{key.shown} (change)"
    return f"{key.shown} ({key.model})" if key.model else key.shown


def _describe_bounds(threshold: MetricThreshold) -> str:
    if threshold.HasField("value_threshold"):
        bounds = threshold.value_threshold
        parts = [
            f"at {word} {bound.value:g}"
            for word, name, bound in (
                ("least", "lower_bound", bounds.lower_bound),
                ("most", "upper_bound", bounds.upper_bound),
            )
            if bounds.HasField(name)
        ]
        return " and ".join(parts)
    change = threshold.change_threshold
    word = "at least" if change.direction == HIGHER_IS_BETTER else "at most"
    parts = [f"{word} {change.absolute.value:g}"] if change.HasField("absolute") else []
    if change.HasField("relative"):
        parts.append(f"{word} {change.relative.value:g} of the baseline's")
    return " and ".join(parts)
