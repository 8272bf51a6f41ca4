# SPDX-License-Identifier: Apache-2.0
"""Several runs side by side, as values for their template."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stoker.views.line_charts import draw_lines
from stoker.views.pages.comparing import (
    Comparison,
    Row,
    collect_curves,
    collect_statistics,
    compare_runs,
)
from stoker.views.pages.rendering import show_number
from stoker.views.pages.run_reading import RunRecord
from stoker.views.statistics_view import compare_statistics
from stoker.views.table import readable_size

_LOSSES = ("loss", "error", "mse", "mae", "divergence", "hinge", "crossentropy")
SMOOTHINGS = (0.0, 0.3, 0.6, 0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A number in a table, how far it is from that of the first run, and whether it is the best."""

    text: str
    change: str = ""
    is_better: bool | None = None
    is_best: bool = False


def make_comparison_values(
    runs: Sequence[RunRecord], *, smoothing: float, is_log: bool, everything: bool
) -> dict[str, Any]:
    """All that is shown of a comparison."""
    found = compare_runs(runs)
    labels = name_runs(runs)
    colours = {label: number for number, label in enumerate(labels.values())}
    charts = {
        name: draw_lines(
            lines,
            colours,
            smoothing=smoothing,
            is_log=is_log,
            label=f"{name} of {len(lines)} runs",
        )
        for name, lines in collect_curves(runs, labels).items()
        if any(len(points) > 1 for points in lines.values())  # the table has single values
    }
    statistics = {
        split: compare_statistics(by_run)
        for split, by_run in collect_statistics(runs, labels).items()
        if len(by_run) > 1
    }
    return {
        "found": found,
        "labels": labels,
        "colours": colours,
        "charts": charts,
        "statistics": statistics,
        "metrics": [(row.name, compare_numbers(row.name, row.values)) for row in found.metrics],
        "slices": [
            (row.slice, row.metric, compare_numbers(row.metric, row.values)) for row in found.slices
        ],
        "models": [(row.name, _compare_sizes(row)) for row in found.models],
        "parameters": _choose_rows(found, everything=everything),
        "smoothing": smoothing,
        "smoothings": SMOOTHINGS,
        "is_log": is_log,
        "everything": everything,
    }


def name_runs(runs: Sequence[RunRecord]) -> dict[str, str]:
    """A short name for each run: a letter, and its tags, or when it began."""
    return {
        run.run_id: f"{chr(ord('A') + number)} {' '.join(run.tags) or run.run_id[:19]}"
        for number, run in enumerate(runs)
    }


def _choose_rows(found: Comparison, *, everything: bool) -> list[Row]:
    return [row for row in found.parameters if everything or row.differs]


def compare_numbers(name: str, values: Sequence[float | None]) -> list[Cell]:
    """The values of a metric; of a loss, the lowest is the best."""
    low_is_good = any(word in name.lower() for word in _LOSSES)
    is_count = "count" in name
    known = [value for value in values if value is not None and math.isfinite(value)]
    best = (min(known) if low_is_good else max(known)) if len(set(known)) > 1 else None
    first = values[0]
    cells = []
    for number, value in enumerate(values):
        if value is None:
            cells.append(Cell(text=""))
            continue
        change = value - first if number and first is not None else 0.0
        cells.append(
            Cell(
                text=show_number(value),
                change=f"{change:+.4g}" if change else "",
                is_better=None if is_count or not change else (change < 0) == low_is_good,
                is_best=not is_count and value == best,
            )
        )
    return cells


def _compare_sizes(row: Row) -> list[Cell]:
    first = row.values[0]
    cells = []
    for number, value in enumerate(row.values):
        if value is None:
            cells.append(Cell(text=""))
            continue
        share = value / first - 1 if number and first else 0.0
        change = f"{share:+.1%}" if abs(share) >= 0.0005 else ""
        cells.append(Cell(text=readable_size(value), change=change))
    return cells
