# SPDX-License-Identifier: Apache-2.0
"""Fairness Indicators as notebooks look at them, where TFMA is not installed."""

from collections.abc import Callable, Mapping
from typing import Any

from stoker.dsl.proto.eval_config_pb2 import SlicingSpec
from stoker.evaluation.slices import describe_slice, fits
from stoker.stand_ins.tfma.results import EvalResult
from stoker.stand_ins.tfma.slicer import SingleSliceSpec
from stoker.stand_ins.tfma.view import MetricsTable, as_message, make_table
from stoker.views.markup import frame, subheading, table_view
from stoker.views.model_views import add_bars
from stoker.views.table import Table


class FairnessView(MetricsTable):
    """A table for each rate: the slices down, the thresholds across."""

    def _repr_html_(self) -> str:
        parts = []
        for name, columns in _group_columns(self.table.columns[1:]).items():
            places = [self.table.columns.index(column) for column in columns]
            rows = [[row[0], *(row[place] for place in places)] for row in self.table.rows]
            thresholds = [column.rpartition("@")[2] for column in columns]
            heads = thresholds if "@" in columns[0] else [""]
            about = "by threshold" if "@" in columns[0] else ""
            table = Table(columns=["slice", *heads], rows=rows)
            parts.append(subheading(name, about) + table_view(add_bars(table)))
        return frame("".join(parts))


def _group_columns(columns: Any) -> dict[str, list[str]]:
    """The columns of each rate, whatever the threshold."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        name = column.partition("@")[0].rpartition("/")[2] if "@" in column else column
        groups.setdefault(name, []).append(column)
    return groups


def render_fairness_indicator(
    eval_result: EvalResult | None = None,
    multi_eval_results: Mapping[str, EvalResult] | None = None,
    slicing_column: str | None = None,
    slicing_spec: SlicingSpec | SingleSliceSpec | None = None,
    output_name: str = "",
    multi_class_key: str = "",
    event_handlers: Callable[..., Any] | None = None,  # noqa: ARG001
) -> FairnessView:
    """The metrics of every slice beside those of all examples; of several models one by one."""
    if (eval_result is None) == (not multi_eval_results):
        raise ValueError("render_fairness_indicator takes eval_result or multi_eval_results.")
    if slicing_column and slicing_spec:
        raise ValueError("render_fairness_indicator takes slicing_column or slicing_spec.")
    spec = as_message(slicing_spec, slicing_column) if slicing_column or slicing_spec else None
    results = {"": eval_result} if eval_result else dict(multi_eval_results or {})
    found = {
        " · ".join(filter(None, (describe_slice(key), name))): metrics[output_name][multi_class_key]
        for name, result in results.items()
        for key, metrics in result.slicing_metrics
        if spec is None or not key or fits(spec, key)
    }
    return FairnessView(make_table(found))
