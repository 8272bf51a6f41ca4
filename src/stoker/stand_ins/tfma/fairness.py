# SPDX-License-Identifier: Apache-2.0
"""Fairness Indicators as notebooks look at them, where TFMA is not installed."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stoker.dsl.proto.eval_config_pb2 import SlicingSpec
from stoker.evaluation.slices import describe_slice, fits
from stoker.stand_ins.tfma.results import EvalResult
from stoker.stand_ins.tfma.slicer import SingleSliceSpec
from stoker.stand_ins.tfma.view import MetricsTable, as_message, make_table
from stoker.views.markup import card, cards, frame
from stoker.views.model_views import add_bars
from stoker.views.table import Table


class FairnessView(MetricsTable):
    """A table for each rate: the slices down, the thresholds across."""

    def _repr_html_(self) -> str:
        names = list(self.table.columns)
        return frame(
            cards(
                card(
                    rate,
                    "" if columns == [rate] else "by threshold",
                    "",
                    add_bars(self._select(map(names.index, columns))),
                )
                for rate, columns in _group_by_rate(names[1:]).items()
            )
        )

    def _select(self, places: Iterable[int]) -> Table:
        """Some columns, under the thresholds in their names, or under nothing."""
        chosen = list(places)
        heads = [self.table.columns[place].partition("@")[2] for place in chosen]
        rows = [[row[0], *(row[place] for place in chosen)] for row in self.table.rows]
        return Table(columns=["slice", *heads], rows=rows)


def _group_by_rate(columns: Iterable[str]) -> dict[str, list[str]]:
    """The columns of each rate, whatever the threshold: `fairness…/recall@0.5` is of recall."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        rate, at, _ = column.partition("@")
        groups.setdefault(rate.rpartition("/")[2] if at else rate, []).append(column)
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
