# SPDX-License-Identifier: Apache-2.0
"""Where runs and steps stand now, which the store alone cannot tell: who lives holds a lock."""

import os
import time

from stoker.artifacts import Artifact
from stoker.metadata.records import MADE, RUN_STATE, WAITING, Execution, PipelineRun
from stoker.metadata.store import Store
from stoker.storage.locks import is_locked, is_run_alive, is_step_alive
from stoker.storage.root import name_step, step_lock


def run_state(run: PipelineRun) -> str:
    """Where a run stands, in one word. Its end is recorded; while it lives, it holds its lock."""
    recorded = run.properties.get(RUN_STATE)
    if recorded not in (None, "running", WAITING):
        return str(recorded)
    if is_alive(run):
        return "running"
    if recorded == WAITING:
        return "died" if "running" in run.standings else WAITING
    if recorded:
        return "died"
    # TFX, and Stoker before it recorded the end of runs, tell only how the steps ended.
    for standing in ("failed", "canceled"):
        if standing in run.standings:
            return standing
    return "died" if "running" in run.standings or not run.standings else "complete"


def is_alive(run: PipelineRun) -> bool:
    """Whether a process holds the lock of a run, or of a step that has joined it."""
    return is_whole_alive(run) or is_run_alive(_lock_file(run)) or bool(run.held - {run.run_id})


def is_whole_alive(run: PipelineRun) -> bool:
    """Whether a process runs all of a run: it holds the run's lock, a file's or the database's.

    Where the file can be seen, that decides: it belongs to the process, and not to a connection
    that may be cut.
    """
    path = _lock_file(run)
    return is_locked(path) or (run.run_id in run.held and not os.path.exists(path))


def is_step_held(run: PipelineRun, node_id: str) -> bool:
    """Whether a process is at work on a step: on its whole run, or on the step by itself."""
    by_itself = name_step(run.run_id, node_id) in run.held
    return by_itself or is_whole_alive(run) or is_step_alive(_lock_file(run), node_id)


def _lock_file(run: PipelineRun) -> str:
    return str(run.properties.get("lock_file", ""))


def find_dead(store: Store, pipeline_name: str, own: str = "") -> list[Execution]:
    """The executions of a pipeline that are RUNNING, and that no process is at work on.

    `own` is the name of the lock that the asking process holds for a step: whatever is RUNNING
    under that name is not.
    """
    dead = _find_unfinished_dead(store, pipeline_name, own)
    elsewhere = any(
        not any(map(os.path.exists, _list_locks(run, execution)))
        for execution, run in dead
        if name_step(run.run_id, execution.node_id) != own
    )
    if elsewhere and store.doubt_seconds:  # who has lost a connection takes the lock again
        time.sleep(store.doubt_seconds)
        dead = _find_unfinished_dead(store, pipeline_name, own)
    return [execution for execution, _ in dead]


def _find_unfinished_dead(
    store: Store, pipeline_name: str, own: str
) -> list[tuple[Execution, PipelineRun]]:
    return [
        (execution, run)
        for execution, run in store.find_unfinished(pipeline_name)
        if name_step(run.run_id, execution.node_id) == own
        or not is_step_held(run, execution.node_id)
    ]


def _list_locks(run: PipelineRun, execution: Execution) -> tuple[str, str]:
    return _lock_file(run), step_lock(_lock_file(run), execution.node_id)


def step_state(store: Store, execution: Execution) -> str:
    """Where a step stands, in one word: one that its run did not live to end has died too."""
    if execution.standing == "running":
        run = store.run(execution.run_id)
        if run and (run_state(run) != "running" or not is_step_held(run, execution.node_id)):
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
