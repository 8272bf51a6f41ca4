# SPDX-License-Identifier: Apache-2.0
"""A run as the page, the report and `stoker compare` show it, read from the store and the files."""

import contextlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stoker.any_python.layout import METRICS_FILE
from stoker.artifacts import Artifact, ArtifactMap, ModelRun, every
from stoker.metadata.masking import mask_secrets
from stoker.metadata.records import (
    DAG,
    METRIC,
    NOTE,
    NUM_STEPS,
    OWN_PROPERTIES,
    ROOT,
    SKIPPED,
    TAGS,
    Execution,
    PipelineRun,
)
from stoker.metadata.standings import run_state
from stoker.metadata.store import Store
from stoker.storage.metrics_file import read_metrics_file
from stoker.storage.root import Root
from stoker.views.progress_lines import find_share
from stoker.views.run_metrics import read_last_metrics

TO_COME = "to come"
_STALE_SECONDS = 30.0
_LONGEST_LOG = 100_000
_ENDED = ("complete", "failed", "canceled", "died")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One execution of a step, or a step that is still to come."""

    node_id: str
    type_name: str
    state: str
    execution_id: int = 0
    why: str = ""
    """Why it ran or did not."""
    started_ms: int = 0
    ended_ms: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    """The parts of its cache key."""
    inputs: ArtifactMap = field(default_factory=dict)
    outputs: ArtifactMap = field(default_factory=dict)
    error: str = ""
    log_file: str = ""

    @property
    def took_ms(self) -> int:
        """How long it has run."""
        return max(0, self.ended_ms - self.started_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """What one step reads of another one."""

    source: str
    target: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProgress:
    """What a step that runs has last reported."""

    node_id: str
    share: float | None
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run, its steps in order, and what came of them."""

    run_id: str
    pipeline_name: str
    state: str
    root: str
    started_ms: int
    ended_ms: int
    num_steps: int
    steps: Sequence[StepRecord]
    edges: Sequence[Edge]
    metrics: Mapping[str, float]
    note: str = ""
    tags: Sequence[str] = ()
    progress: Sequence[StepProgress] = ()

    @property
    def is_live(self) -> bool:
        """Whether more may come."""
        return self.state not in _ENDED

    @property
    def took_ms(self) -> int:
        """How long it has run."""
        return max(0, self.ended_ms - self.started_ms)

    @property
    def num_cached(self) -> int:
        """How many of its steps were given again."""
        return sum(step.state == "cached" for step in self.steps)

    def outputs_of_type(self, kind: type[Artifact]) -> list[tuple[StepRecord, Artifact]]:
        """What its steps made, or are making, of one type."""
        return [
            (step, one)
            for step in self.steps
            for one in every(step.outputs)
            if isinstance(one, kind)
        ]


def read_run(store: Store, run_id: str) -> RunRecord | None:
    """One run; None if the store has no such run."""
    found = store.run(run_id)
    return describe_run(store, found) if found else None


def describe_run(store: Store, run: PipelineRun) -> RunRecord:
    """A run with all its steps."""
    state = run_state(run)
    root = str(run.properties.get(ROOT, ""))
    root = store.moved_roots.get(root, root)
    executions = store.executions(run_id=run.run_id)
    inputs, outputs = store.inputs_and_outputs_of_run(run.run_id)
    now_ms = int(time.time() * 1000)
    steps = [
        _describe_step(
            one,
            inputs.get(one.id, {}),
            outputs.get(one.id, {}),
            root,
            state,
            now_ms,
        )
        for one in executions
    ]
    steps, edges = _add_planned(run, steps, state)
    return RunRecord(
        run_id=run.run_id,
        pipeline_name=run.pipeline_name,
        state=state,
        root=root,
        started_ms=run.created_ms,
        ended_ms=now_ms if state == "running" else run.updated_ms,
        num_steps=_read_number(run.properties.get(NUM_STEPS)) or len(steps),
        steps=steps,
        edges=edges,
        metrics=find_metrics(run, steps),
        note=str(run.properties.get(NOTE) or ""),
        tags=read_tags(run),
        progress=_read_progress(root, run.run_id) if state == "running" else (),
    )


def read_tags(run: PipelineRun) -> list[str]:
    """The words that people have put on a run."""
    found = run.properties.get(TAGS)
    return [str(one) for one in found] if isinstance(found, list) else []


def find_metrics(run: PipelineRun, steps: Sequence[StepRecord] = ()) -> dict[str, float]:
    """The last metrics of a run: as recorded, or else those in the files of its steps."""
    recorded = read_recorded_metrics(run)
    if recorded or not steps:
        return recorded
    found: dict[str, float] = {}
    for step in steps:
        for artifact in every(step.outputs):
            found |= read_last_metrics(artifact)
    return found


def read_recorded_metrics(run: PipelineRun) -> dict[str, float]:
    """The last metrics of a run, as its steps have published them."""
    return {
        name.removeprefix(METRIC): float(value)
        for name, value in sorted(run.properties.items())
        if name.startswith(METRIC) and isinstance(value, int | float)
    }


def _describe_step(
    one: Execution, inputs: ArtifactMap, outputs: ArtifactMap, root: str, run: str, now_ms: int
) -> StepRecord:
    state = one.standing
    if state == "running" and run != "running":
        state = "died"
    properties = one.properties
    parts = properties.get("cache_parts")
    parameters = {name: value for name, value in properties.items() if name not in OWN_PROPERTIES}
    return StepRecord(
        node_id=one.node_id,
        type_name=one.type_name.rpartition(".")[2],
        state=state,
        execution_id=one.id,
        why=str(properties.get(SKIPPED) or properties.get("cache_explanation") or ""),
        started_ms=one.created_ms,
        ended_ms=now_ms if state == "running" else one.updated_ms,
        parameters=mask_secrets(parameters),
        parts={str(k): str(v) for k, v in parts.items()} if isinstance(parts, dict) else {},
        inputs=inputs,
        outputs=outputs,
        error=one.error,
        log_file=_find_log(one, outputs, root),
    )


def _find_log(one: Execution, outputs: ArtifactMap, root: str) -> str:
    """Where a step's log is: with the output that keeps it, or with the runner's own files.

    Of a cache hit, it is the log of the step that made what was given again.
    """
    kept = [os.path.join(artifact.uri, "log.txt") for artifact in every(outputs)]
    own = Root(root).log_file(one.node_id, one.id) if root else ""
    return next((path for path in (own, *kept) if path and os.path.isfile(path)), "")


def _add_planned(
    run: PipelineRun, steps: list[StepRecord], state: str
) -> tuple[list[StepRecord], list[Edge]]:
    """The steps with those that are still to come, and what they read from each other."""
    try:
        planned = json.loads(str(run.properties.get(DAG, "")))
    except ValueError:
        return steps, _find_edges(steps)
    begun = {step.node_id for step in steps}
    word = TO_COME if state == "running" else "not begun"
    nodes = [one for one in planned if isinstance(one, dict) and "id" in one]
    more = [
        StepRecord(node_id=str(one["id"]), type_name=str(one.get("type", "")), state=word)
        for one in nodes
        if one["id"] not in begun
    ]
    edges = [
        Edge(source=str(read["from"]), target=str(one["id"]), key=str(read.get("key", "")))
        for one in nodes
        for read in one.get("reads") or []
    ]
    linked = {(edge.source, edge.target) for edge in edges}
    edges += [
        Edge(source=str(before), target=str(one["id"]))
        for one in nodes
        for before in one.get("after") or []
        if (before, one["id"]) not in linked
    ]
    return steps + more, list(dict.fromkeys(edges))


def _find_edges(steps: Sequence[StepRecord]) -> list[Edge]:
    """What steps have read from each other, by the artifacts that went between them."""
    makers = {
        one.id: (step, key) for step in steps for key, many in step.outputs.items() for one in many
    }
    edges = [
        Edge(source=makers[one.id][0].node_id, target=step.node_id, key=makers[one.id][1])
        for step in steps
        for one in every(step.inputs)
        if one.id in makers and makers[one.id][0].node_id != step.node_id
    ]
    return list(dict.fromkeys(edges))


def _read_number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _read_progress(root: str, run_id: str) -> list[StepProgress]:
    """What the steps that run have last reported; nothing if that was long ago."""
    try:
        with open(Root(root).progress_file(run_id), encoding="utf-8") as file:
            records = json.load(file)
    except (OSError, ValueError):
        return []
    if not isinstance(records, list):  # of a runner of an earlier version
        return []
    return [
        StepProgress(node_id=str(record.get("node", "")), share=find_share(record), record=record)
        for record in records
        if time.time() - record.get("at", 0) <= _STALE_SECONDS
    ]


Curves = Mapping[str, Mapping[str, Sequence[tuple[int, float]]]]


def read_curves(run: RunRecord) -> dict[str, Curves]:
    """How the trainings of a run went, or are going: by step, metric and series."""
    found: dict[str, Curves] = {}
    for step, artifact in run.outputs_of_type(ModelRun):
        curves: dict[str, dict[str, list[tuple[int, float]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            for record in read_metrics_file(os.path.join(artifact.uri, METRICS_FILE)):
                for name, value in record.metrics.items():
                    curves[name][record.series].append((record.step, value))
        if curves:
            found[step.node_id] = curves
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPart:
    """A part of a growing log."""

    text: str
    next_offset: int
    left_out: int = 0
    """How many bytes before it are not shown."""


def read_log(path: str, offset: int | None = None, most: int = _LONGEST_LOG) -> LogPart:
    """What a log says from an offset on; without one, its end. At most so many bytes of it."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = max(0, size - most) if offset is None else min(offset, size)
            file.seek(start)
            data = file.read(most)
    except OSError:
        return LogPart(text="", next_offset=offset or 0)
    if offset is None and start:
        cut = data.find(b"\n") + 1
        data, start = data[cut:], start + cut
    whole = data.rfind(b"\n") + 1 or len(data)  # what is half a character may follow
    text = mask_secrets(data[:whole].decode("utf-8", "replace").replace("\r\n", "\n"))
    return LogPart(text=text, next_offset=start + whole, left_out=start if offset is None else 0)
