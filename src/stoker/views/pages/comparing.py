# SPDX-License-Identifier: Apache-2.0
"""What differs between runs: parameters, code, metrics, evaluations, data, models.

The parts of a step's cache key say which file changed; where the runner has kept what both said,
the difference is shown.
"""

import contextlib
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stoker.artifacts import Artifact, ExampleStatistics, Model, ModelEvaluation, every
from stoker.errors import StokerError
from stoker.statistics.messages import Statistics
from stoker.storage.digests import DamagedManifest, Manifest
from stoker.storage.root import Root, manifest_file
from stoker.views.data_tables import read_split_statistics
from stoker.views.pages.run_page import flatten_parameters
from stoker.views.pages.run_reading import RunRecord, StepRecord, read_curves

FEWEST, MOST = 2, 10
_CODE = ("file ", "source of ")
_LONGEST_DIFF = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing, as it is in each run; None where a run has no such thing."""

    name: str
    values: Sequence[Any]

    @property
    def differs(self) -> bool:
        """Whether it is not the same in all runs."""
        return any(value != self.values[0] for value in self.values[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeChange:
    """A part of a step's code that is not the same in all runs."""

    step: str
    part: str
    digests: Sequence[str]
    diffs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """How it differs from that of the first run, by run, where both are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRow:
    """A metric of a slice in each run."""

    slice: str
    metric: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Several runs side by side, the first of which the others are compared with."""

    runs: Sequence[RunRecord]
    facts: Sequence[Row]
    metrics: Sequence[Row]
    parameters: Sequence[Row]
    code: Sequence[CodeChange]
    other_parts: Sequence[Row]
    """What else the cache has seen to differ: versions, inputs, data files."""
    slices: Sequence[SliceRow]
    models: Sequence[Row]

    def to_record(self) -> dict[str, Any]:
        """What differs, as JSON."""
        ids = [run.run_id for run in self.runs]

        def by_run(row: Row) -> dict[str, Any]:
            return dict(zip(ids, row.values, strict=True))

        return {
            "runs": ids,
            "facts": {row.name: by_run(row) for row in self.facts},
            "metrics": {row.name: by_run(row) for row in self.metrics},
            "parameters": {row.name: by_run(row) for row in self.parameters if row.differs},
            "code": [
                {
                    "step": one.step,
                    "part": one.part,
                    "diffs": {k: list(v) for k, v in one.diffs.items()},
                }
                for one in self.code
            ],
            "other": {row.name: by_run(row) for row in self.other_parts},
            "slices": [
                {
                    "slice": one.slice,
                    "metric": one.metric,
                    "values": dict(zip(ids, one.values, strict=True)),
                }
                for one in self.slices
            ],
            "models": {row.name: by_run(row) for row in self.models},
        }


def compare_runs(runs: Sequence[RunRecord]) -> Comparison:
    """What differs between two to ten runs."""
    if not FEWEST <= len(runs) <= MOST:
        raise ValueError(f"{FEWEST} to {MOST} runs can be compared, got {len(runs)}.")
    changes = list(_find_changes(runs))
    return Comparison(
        runs=runs,
        facts=_list_facts(runs),
        metrics=_tabulate(runs, lambda run: run.metrics),
        parameters=_tabulate(runs, _list_parameters),
        code=[_describe_code(runs, *one) for one in changes if one[1].startswith(_CODE)],
        other_parts=[
            Row(name=f"{step}: {part}", values=digests)
            for step, part, digests in changes
            if not part.startswith((*_CODE, "parameter "))
        ],
        slices=_compare_slices(runs),
        models=_compare_models(runs),
    )


def _list_facts(runs: Sequence[RunRecord]) -> list[Row]:
    facts: dict[str, Callable[[RunRecord], Any]] = {
        "pipeline": lambda run: run.pipeline_name,
        "state": lambda run: run.state,
        "seconds": lambda run: round(run.took_ms / 1000, 2),
        "steps": lambda run: sum(bool(step.execution_id) for step in run.steps),
        "cached": lambda run: run.num_cached,
        "note": lambda run: run.note,
    }
    rows = [Row(name=name, values=[find(run) for run in runs]) for name, find in facts.items()]
    return [row for row in rows if any(value != "" for value in row.values)]


def _tabulate(
    runs: Sequence[RunRecord], find: Callable[[RunRecord], Mapping[str, Any]]
) -> list[Row]:
    found = [find(run) for run in runs]
    names = dict.fromkeys(name for one in found for name in one)
    return [Row(name=name, values=[one.get(name) for one in found]) for name in names]


def _list_parameters(run: RunRecord) -> dict[str, Any]:
    return {
        f"{step.node_id}.{name}": value
        for step in run.steps
        for name, value in flatten_parameters(step).items()
    }


def _find_changes(runs: Sequence[RunRecord]) -> Iterator[tuple[str, str, list[str]]]:
    """The parts of steps' cache keys that differ, with their digests in each run."""
    steps = [{step.node_id: step.parts for step in run.steps if step.parts} for run in runs]
    shared = [node for node in steps[0] if all(node in one for one in steps)]
    for node in shared:
        names = dict.fromkeys(name for one in steps for name in one[node])
        for name in names:
            digests = [one[node].get(name, "") for one in steps]
            if len(set(digests)) > 1:
                yield node, name, digests


def _describe_code(
    runs: Sequence[RunRecord], step: str, part: str, digests: Sequence[str]
) -> CodeChange:
    texts = [_read_source(run, digest) for run, digest in zip(runs, digests, strict=True)]
    name = part.partition(" ")[2]
    diffs = {
        run.run_id: _diff(texts[0], text, name)
        for run, text in zip(runs[1:], texts[1:], strict=True)
        if texts[0] is not None and text is not None and text != texts[0]
    }
    return CodeChange(step=step, part=part, digests=digests, diffs=diffs)


def _read_source(run: RunRecord, digest: str) -> list[str] | None:
    """What a file said, where that was kept."""
    if not digest.isalnum():  # a name that leads nowhere else
        return None
    try:
        with open(Root(run.root).source_file(digest), encoding="utf-8") as file:
            return file.read().splitlines()
    except (OSError, ValueError):
        return None


def _diff(before: Sequence[str], after: Sequence[str], name: str) -> list[str]:
    lines = list(difflib.unified_diff(before, after, name, name, lineterm="", n=3))
    more = len(lines) - _LONGEST_DIFF
    return [*lines[:_LONGEST_DIFF], *([f"… {more} lines more"] if more > 0 else [])]


def _compare_slices(runs: Sequence[RunRecord]) -> list[SliceRow]:
    from stoker.evaluation.slices import describe_slice

    found: list[dict[tuple[str, str], float]] = []
    for run in runs:
        values: dict[tuple[str, str], float] = {}
        for key, metrics in _read_evaluation(run):
            for name, value in metrics.items():
                values[describe_slice(key), name] = value
        found.append(values)
    names = dict.fromkeys(name for one in found for name in one)
    return [
        SliceRow(slice=where, metric=metric, values=[one.get((where, metric)) for one in found])
        for where, metric in names
    ]


def _read_evaluation(run: RunRecord) -> list[tuple[Any, dict[str, float]]]:
    from stoker.evaluation.results import read_metrics, sort_slices

    for _, artifact in run.outputs_of_type(ModelEvaluation):
        with contextlib.suppress(OSError, ValueError, StokerError):
            return [
                (key, {one.shown: value for one, value in values.items() if _is_own(one)})
                for key, values in sort_slices(read_metrics(artifact.uri))
            ]
    return []


def _is_own(key: Any) -> bool:
    """Whether a metric is of the model itself, and not of the one that it is compared with."""
    return not key.is_diff and key.model in ("", "candidate")


def _compare_models(runs: Sequence[RunRecord]) -> list[Row]:
    """How large the models are, by the step and the output that they are from."""
    sizes = [
        {
            f"{step.node_id}.{key}": measure(one)
            for step in run.steps
            for key, many in step.outputs.items()
            for one in many
            if isinstance(one, Model) and step.type_name != "Resolver"
        }
        for run in runs
    ]
    names = dict.fromkeys(name for one in sizes for name in one)
    return [Row(name=name, values=[one.get(name) for one in sizes]) for name in names]


def measure(artifact: Artifact) -> int | None:
    """How many bytes an artifact has, by its manifest; None where that is not known."""
    with contextlib.suppress(OSError, DamagedManifest):
        return sum(file.size for file in Manifest.read(manifest_file(artifact.uri)).files)
    return None


def collect_curves(
    runs: Sequence[RunRecord], labels: Mapping[str, str]
) -> dict[str, dict[str, Sequence[tuple[int, float]]]]:
    """The curves of all runs by metric and series; of a series, each run has a line."""
    found: dict[str, dict[str, Sequence[tuple[int, float]]]] = {}
    for run in runs:
        for curves in read_curves(run).values():
            for name, by_series in curves.items():
                for series, points in by_series.items():
                    found.setdefault(f"{name}, {series}", {})[labels[run.run_id]] = points
    return found


def collect_statistics(
    runs: Sequence[RunRecord], labels: Mapping[str, str]
) -> dict[str, dict[str, Statistics]]:
    """The statistics of the runs' data by split; those of equal data are there once."""
    found: dict[str, dict[str, Statistics]] = {}
    seen: dict[int, str] = {}
    for run in runs:
        for _, artifact in _first_statistics(run):
            if artifact.id in seen:
                continue
            seen[artifact.id] = labels[run.run_id]
            with contextlib.suppress(OSError, ValueError, StokerError):
                for split, statistics in read_split_statistics(artifact).items():
                    found.setdefault(split, {})[labels[run.run_id]] = statistics
    return found


def _first_statistics(run: RunRecord) -> list[tuple[StepRecord, ExampleStatistics]]:
    """The statistics of a run's data as it came: those of the first step that made some."""
    for step in run.steps:
        made = [one for one in every(step.outputs) if isinstance(one, ExampleStatistics)]
        if made:
            return [(step, one) for one in made[:1]]
    return []
