# SPDX-License-Identifier: Apache-2.0
"""What notebooks find as `tfma.view` where TFMA is not installed: tables, curves, time series."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stoker.dsl.proto.eval_config_pb2 import SlicingSpec
from stoker.errors import MissingPart
from stoker.evaluation.slices import SliceKey, describe_slice, fits
from stoker.stand_ins.tfma.constants import MODEL_CENTRIC_MODE
from stoker.stand_ins.tfma.results import (
    EvalResult,
    EvalResults,
    SlicedMetrics,
    SlicedPlots,
    Values,
)
from stoker.stand_ins.tfma.slicer import SingleSliceSpec
from stoker.views.charts import curves_chart
from stoker.views.markup import card, cards, frame, table_view
from stoker.views.model_views import add_bars
from stoker.views.plot_views import draw_plots
from stoker.views.table import Table

__all__ = [
    "EvalResult",
    "EvalResults",
    "MetricsTable",
    "Plots",
    "SlicedMetrics",
    "SlicedPlots",
    "TimeSeries",
    "render_plot",
    "render_slicing_attributions",
    "render_slicing_metrics",
    "render_time_series",
]


class MetricsTable:
    """A table that a notebook shows as HTML, and `print` as text."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __str__(self) -> str:
        return "\n".join(self.table.lines())

    def _repr_html_(self) -> str:
        return frame(table_view(add_bars(self.table)))


def render_slicing_metrics(
    result: EvalResult | EvalResults,
    slicing_column: str | None = None,
    slicing_spec: SlicingSpec | SingleSliceSpec | None = None,
    weighted_example_column: str | None = None,  # noqa: ARG001
    event_handlers: Callable[..., Any] | None = None,  # noqa: ARG001
) -> MetricsTable:
    """The metrics of all examples, of the slices by a column, or of those that a spec means.

    Of several models, those of the first: the one that was compared with a baseline.
    """
    if isinstance(result, EvalResults):
        result = result.get_results()[0]
    spec = as_message(slicing_spec, slicing_column)
    found = {
        key: values
        for key, values in result.get_metrics_for_all_slices().items()
        if fits(spec, key)
    }
    if not found:
        known = dict.fromkeys(_list_features(key) for key in result.get_slice_names())
        raise ValueError(
            f"The evaluation has no such slices; it has those by {'; '.join(known) or 'nothing'}."
        )
    rows = {describe_slice(key): values for key, values in found.items()}
    return MetricsTable(make_table(rows))


def make_table(found: Mapping[str, Values]) -> Table:
    """A row for each title, a column for each metric."""
    names = list(dict.fromkeys(name for values in found.values() for name in values))
    rows = [
        [title, *(_format_metric(values.get(name, {})) for name in names)]
        for title, values in found.items()
    ]
    return Table(columns=["slice", *names], rows=rows)


class TimeSeries(MetricsTable):
    """How metrics change from one evaluation to the next: a chart each in a notebook."""

    def _repr_html_(self) -> str:
        names = self.table.columns[1:]
        charts = [
            card(
                name,
                "",
                curves_chart(curve, {"": "split-0"}, across="evaluation"),
                Table(columns=[], rows=[]),
            )
            for number, name in enumerate(names, start=1)
            if len((curve := self._curve(number))[""]) > 1  # of one point, the table tells
        ]
        return frame(cards(charts) + table_view(self.table))

    def _curve(self, column: int) -> dict[str, list[tuple[int, float]]]:
        values = [str(row[column]) for row in self.table.rows]
        return {"": [(step, float(one)) for step, one in enumerate(values, start=1) if one]}


def render_time_series(
    results: EvalResult | EvalResults,
    slice_spec: SlicingSpec | SingleSliceSpec | None = None,
    display_full_path: bool = False,
) -> TimeSeries:
    """The metrics of one slice, by default of all examples, in each of several evaluations."""
    if isinstance(results, EvalResult):
        results = EvalResults([results])
    spec = as_message(slice_spec, None)
    places = _name_places(results)
    rows, names = [], list[str]()
    for one, place in zip(results.get_results(), places, strict=True):
        found = [
            values for key, values in one.get_metrics_for_all_slices().items() if fits(spec, key)
        ]
        if len(found) != 1:
            raise ValueError(f"render_time_series takes one slice, and {spec} means {len(found)}.")
        names += [name for name in found[0] if name not in names]
        rows.append((place if display_full_path else os.path.basename(place), found[0]))
    return TimeSeries(
        Table(
            columns=["evaluation", *names],
            rows=[
                [place, *(_format_metric(values.get(name, {})) for name in names)]
                for place, values in rows
            ],
        )
    )


def _name_places(results: EvalResults) -> list[str]:
    """The models, or the data: what the mode asks for, unless only the other differs."""
    models = [one.model_location for one in results.get_results()]
    data = [one.data_location for one in results.get_results()]
    asked, other = (models, data) if results.mode == MODEL_CENTRIC_MODE else (data, models)
    return other if len(set(asked)) == 1 < len(set(other)) else asked


def as_message(spec: SlicingSpec | SingleSliceSpec | None, column: str | None) -> SlicingSpec:
    """The slices that are meant: by a spec, by a column, or all examples."""
    if isinstance(spec, SingleSliceSpec):
        return spec.as_message()
    return spec or SlicingSpec(feature_keys=[column] if column else [])


def _list_features(key: SliceKey) -> str:
    return ", ".join(name for name, _ in key) or "all examples"


def _format_metric(value: dict[str, Any]) -> str:
    number = value.get("doubleValue")
    return f"{number:.6g}" if isinstance(number, float) else str(number or "")


class Plots(MetricsTable):
    """The plots of a slice: curves in a notebook, and some of their numbers as text."""

    def __init__(self, table: Table, charts: Sequence[str]) -> None:
        super().__init__(table)
        self._charts = charts

    def _repr_html_(self) -> str:
        return frame(cards(self._charts) + table_view(self.table))


def render_plot(
    result: EvalResult,
    slicing_spec: SlicingSpec | SingleSliceSpec | None = None,
    output_name: str | None = None,
    class_id: int | None = None,
    top_k: int | None = None,
    k: int | None = None,
    label: str | None = None,
) -> Plots:
    """The plots of one slice, by default of all examples."""
    if any(value is not None for value in (class_id, top_k, k, label)):
        raise MissingPart(
            "Plots of one class, or by a label, need TFMA: pip install 'stoker[evaluator]'."
        )
    spec = as_message(slicing_spec, None)
    found = [one.plot for one in result.plots if fits(spec, one.slice)]
    if len(found) != 1 or not (data := found[0].get(output_name or "", {}).get("")):
        raise ValueError(
            "There are no plots of such a slice. Name some in metrics_specs, such as "
            "MetricConfig(class_name='ConfusionMatrixPlot'), and the slice in slicing_specs."
        )
    return Plots(*draw_plots(data))


def render_slicing_attributions(*_: Any, **__: Any) -> None:
    """Attributions are TFMA's."""
    raise MissingPart(
        "tfma.view.render_slicing_attributions needs TFMA: pip install 'stoker[evaluator]'. "
        "Stoker's own engine computes no attributions."
    )
