# SPDX-License-Identifier: Apache-2.0
"""The last metrics of runs: of which steps, and how they are told in one cell."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from stoker.artifacts import Artifact
from stoker.metadata.store import Store
from stoker.storage.metrics_file import spell_number
from stoker.views.last_metrics import MEASURED, describe_metrics, find_last_metrics

Metrics: TypeAlias = dict[str, float | str]
"""By name, as JSON takes them: what is no number is a word."""
_MOST_STEPS = 3
_READ_STEPS = 20
"""Of a run with more trainings, as a loop makes them, the files of the last ones are read."""


def read_metrics(*artifacts: Artifact) -> Metrics:
    """The last metrics of trainings and evaluations."""
    found = (pair for one in artifacts for pair in find_last_metrics(one).items())
    return {name: spell_number(value) for name, value in found}


def find_metrics(store: Store, run_ids: Sequence[str]) -> dict[str, dict[str, Metrics]]:
    """The last metrics of the trainings and evaluations of some runs: by run, step and name."""
    found: dict[str, dict[str, Metrics]] = {run_id: {} for run_id in run_ids}
    for execution, artifact in reversed(store.outputs_of_runs(run_ids, MEASURED)):
        steps = found[execution.run_id]
        if len(steps) < _READ_STEPS and execution.node_id not in steps:
            steps[execution.node_id] = read_metrics(artifact)
    return {
        run_id: {step: metrics for step, metrics in reversed(steps.items()) if metrics}
        for run_id, steps in found.items()
    }


def describe_steps(metrics: Mapping[str, Metrics]) -> str:
    """The metrics of a run in one line; of which step, where there are several."""
    several = len(metrics) > 1
    parts = [f"{step}: " * several + describe_metrics(few) for step, few in metrics.items()]
    more = [f"… {len(parts) - _MOST_STEPS} more"] if len(parts) > _MOST_STEPS else []
    return "; ".join([*parts[:_MOST_STEPS], *more])
