# SPDX-License-Identifier: Apache-2.0
"""Where runs and steps stand now, which the store alone cannot tell: who lives holds a lock."""

from stoker.artifacts import Artifact
from stoker.metadata.records import MADE, RUN_STATE, Execution, PipelineRun
from stoker.metadata.store import Store
from stoker.storage.locks import is_locked


def run_state(run: PipelineRun) -> str:
    """Where a run stands, in one word. Its end is recorded; while it lives, it holds its lock."""
    recorded = run.properties.get(RUN_STATE)
    if recorded not in (None, "running"):
        return str(recorded)
    if is_locked(str(run.properties.get("lock_file", ""))):
        return "running"
    if recorded:
        return "died"
    # TFX, and Stoker before it recorded the end of runs, tell only how the steps ended.
    for standing in ("failed", "canceled"):
        if standing in run.standings:
            return standing
    return "died" if "running" in run.standings or not run.standings else "complete"


def step_state(store: Store, execution: Execution) -> str:
    """Where a step stands, in one word: one that its run did not live to end has died too."""
    if execution.standing == "running":
        runs = store.runs(begin=execution.run_id)
        if any(run.run_id == execution.run_id and run_state(run) != "running" for run in runs):
            return "died"
    return execution.standing


def find_maker(store: Store, artifact: Artifact) -> Execution | None:
    """The execution that made an artifact, if one of the store did."""
    lineage = store.lineage(artifact.id)
    makers = {
        event.execution_id
        for event in lineage.events
        if event.artifact_id == artifact.id and event.type in MADE
    }
    return next((execution for execution in lineage.executions if execution.id in makers), None)
