# SPDX-License-Identifier: Apache-2.0
"""What notebooks find as `tfma.view` where TFMA is not installed: plain tables, and no plots."""

from collections.abc import Callable
from typing import Any

from stoker.dsl.proto.eval_config_pb2 import SlicingSpec
from stoker.errors import MissingPart
from stoker.evaluation.slices import SliceKey, describe_slice, fits
from stoker.stand_ins.tfma.results import EvalResult, SlicedMetrics
from stoker.views.markup import frame, table_view
from stoker.views.table import Table

__all__ = [
    "EvalResult",
    "MetricsTable",
    "SlicedMetrics",
    "render_slicing_metrics",
]


class MetricsTable:
    """A table that a notebook shows as HTML, and `print` as text."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __str__(self) -> str:
        return "\n".join(self.table.lines())

    def _repr_html_(self) -> str:
        return frame(table_view(self.table))


def render_slicing_metrics(
    result: EvalResult,
    slicing_column: str | None = None,
    slicing_spec: SlicingSpec | None = None,
    weighted_example_column: str | None = None,  # noqa: ARG001
    event_handlers: Callable[..., Any] | None = None,  # noqa: ARG001
) -> MetricsTable:
    """The metrics of all examples, of the slices by a column, or of those that a spec means."""
    spec = slicing_spec or SlicingSpec(feature_keys=[slicing_column] if slicing_column else [])
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
    names = list(dict.fromkeys(name for values in found.values() for name in values))
    rows = [
        [describe_slice(key), *(_format_metric(values.get(name, {})) for name in names)]
        for key, values in found.items()
    ]
    return MetricsTable(Table(columns=["slice", *names], rows=rows))


def _list_features(key: SliceKey) -> str:
    return ", ".join(name for name, _ in key) or "all examples"


def _format_metric(value: dict[str, Any]) -> str:
    number = value.get("doubleValue")
    return f"{number:.6g}" if isinstance(number, float) else str(number or "")


def __getattr__(name: str) -> Any:
    """Plots, attributions and time series are TFMA's."""
    if not name.startswith("render_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise MissingPart(
        f"tfma.view.{name} needs TFMA, which is not installed; render_slicing_metrics gives a "
        "table without it. Install it: pip install 'stoker[evaluator]'.",
        name=name,
    )
