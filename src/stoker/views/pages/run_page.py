# SPDX-License-Identifier: Apache-2.0
"""A run as values for its templates: pictures, curves, parameters and logs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stoker.views.line_charts import draw_lines
from stoker.views.pages.pictures import (
    Arrow,
    Bar,
    Box,
    draw_graph,
    draw_timeline,
    make_time_marks,
)
from stoker.views.pages.run_query import flatten
from stoker.views.pages.run_reading import (
    Curves,
    LogPart,
    RunRecord,
    StepRecord,
    read_curves,
    read_log,
)
from stoker.views.progress_lines import describe
from stoker.views.table import readable_duration

_ROOM_FOR_LOGS, _LONGEST_LOG = 2_000_000, 100_000
_WORST_FIRST = ("failed", "died", "running", "canceled", "complete", "cached", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnCurves:
    """The curves of one training: a chart for each metric, with a colour for each series."""

    charts: Mapping[str, str]
    colours: Mapping[str, int]


def make_live_values(run: RunRecord) -> dict[str, Any]:
    """What changes while a run goes on."""
    return {
        "run": run,
        "num_begun": sum(bool(step.execution_id) for step in run.steps),
        "graph": draw_pipeline(run),
        "timeline": _draw_times(run),
        "curves": {node: draw_curves(found) for node, found in read_curves(run).items()},
        "progress": [
            (one, describe(one.node_id, one.record, elapsed=one.record.get("elapsed", 0.0)))
            for one in run.progress
        ],
    }


def make_detail_values(run: RunRecord, room: int = _ROOM_FOR_LOGS) -> dict[str, Any]:
    """What is read once: parameters and logs, the ends of which share so many bytes."""
    begun = [step for step in run.steps if step.execution_id]
    return {
        "flat": {step.execution_id: flatten_parameters(step) for step in begun},
        "logs": _read_logs(begun, room),
    }


def flatten_parameters(step: StepRecord) -> dict[str, Any]:
    """The parameters of a step as plain values; those without a value are left out."""
    flat: dict[str, Any] = {}
    for name, value in step.parameters.items():
        flat |= flatten(name, value)
    return {name: value for name, value in flat.items() if value is not None}


def _read_logs(steps: Sequence[StepRecord], room: int) -> dict[int, LogPart]:
    most = min(_LONGEST_LOG, room // max(1, len(steps)))
    logs = {
        step.execution_id: read_log(step.log_file, most=most) for step in steps if step.log_file
    }
    # A step that is about to print has a log, too.
    running = {step.execution_id for step in steps if step.state == "running"}
    return {number: part for number, part in logs.items() if part.text or number in running}


def draw_pipeline(run: RunRecord) -> str:
    """The steps of a run and what they read from each other."""
    nodes: dict[str, list[StepRecord]] = {}
    for step in run.steps:
        nodes.setdefault(step.node_id, []).append(step)
    boxes = [_make_box(node, steps) for node, steps in nodes.items()]
    arrows = [Arrow(source=one.source, target=one.target, text=one.key) for one in run.edges]
    return draw_graph(boxes, arrows, f"The steps of {run.pipeline_name}")


def _make_box(node: str, steps: Sequence[StepRecord]) -> Box:
    """One step; in a loop, all its rounds, as the worst of them stands."""
    by_state = {step.state: step for step in steps}
    worst = next((by_state[word] for word in _WORST_FIRST if word in by_state), steps[0])
    took = sum(step.took_ms for step in steps)
    rounds = f", {len(steps)} times" if len(steps) > 1 else ""
    text = f"{worst.state}, {readable_duration(took)}" if worst.execution_id else worst.state
    return Box(
        id=node,
        title=node,
        text=f"{text}{rounds}",
        kind=worst.state.replace(" ", "-"),
        link=f"#step-{worst.execution_id}" if worst.execution_id else "",
        tip=worst.why,
    )


def _draw_times(run: RunRecord) -> str:
    begun = [step for step in run.steps if step.started_ms]
    bars = [
        Bar(
            title=step.node_id,
            text=readable_duration(step.took_ms),
            kind=step.state,
            start_ms=step.started_ms,
            end_ms=step.ended_ms,
            link=f"#step-{step.execution_id}",
        )
        for step in begun
    ]
    span = max((bar.end_ms for bar in bars), default=0) - min(
        (bar.start_ms for bar in bars), default=0
    )
    return draw_timeline(bars, make_time_marks(span))


def draw_curves(curves: Curves) -> DrawnCurves:
    """A chart for each metric of one training."""
    names = dict.fromkeys(series for by_series in curves.values() for series in by_series)
    colours = {name: number for number, name in enumerate(names)}
    charts = {
        name: draw_lines(by_series, colours, label=f"{name} by step")
        for name, by_series in curves.items()
    }
    return DrawnCurves(charts=charts, colours=colours)
