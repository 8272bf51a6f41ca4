# SPDX-License-Identifier: Apache-2.0
"""What a name on the command line stands for in the store."""

import os

import click

from stoker.artifacts import Artifact, State
from stoker.errors import StoreError
from stoker.metadata.records import MADE, Execution, PipelineRun
from stoker.metadata.store import Store
from stoker.storage.locks import is_locked


def find_run(store: Store, text: str) -> PipelineRun | None:
    """The run with this id or the only one that begins so; `last` is the newest."""
    runs = store.runs()
    if text == "last":
        return runs[0] if runs else None
    exact = [run for run in runs if run.run_id == text]
    begin_so = exact or [run for run in runs if run.run_id.startswith(text)]
    if len(begin_so) > 1:
        raise click.UsageError(f"{len(begin_so)} runs begin with {text!r}; give more of the id.")
    return begin_so[0] if begin_so else None


def find_execution(store: Store, node_id: str) -> Execution | None:
    """The newest execution of a step, in whichever pipeline of the store it is."""
    pipelines = {run.pipeline_name for run in store.runs()}
    found = [
        execution
        for name in pipelines
        for execution in store.executions(pipeline_name=name, node_id=node_id, newest=1)
    ]
    return max(found, key=lambda one: one.id, default=None)


def unknown_node(store: Store, node_id: str) -> click.UsageError:
    """What to raise for a name that stands for nothing: it lists the steps of the newest run."""
    newest = store.runs()[:1]
    known = [step.node_id for run in newest for step in store.executions(run_id=run.run_id)]
    return click.UsageError(
        f"The store has no run, artifact or step {node_id!r}; the newest run has the steps "
        f"{', '.join(dict.fromkeys(known)) or '(none)'}."
    )


def find_artifact(store: Store, text: str) -> Artifact:
    """The artifact with this id, or at this path."""
    if text.isdecimal():
        try:
            return store.artifact(int(text))
        except StoreError as error:
            raise click.UsageError(str(error)) from error
    found = store.artifacts(uri=os.path.abspath(text), states=tuple(State))
    if not found:
        raise click.UsageError(f"There is no artifact at {text}. Name it by its id or its path.")
    return found[-1]


def find_roots(store: Store) -> list[str]:
    """The pipeline roots of all runs, where they are still there."""
    named = {str(run.properties["root"]) for run in store.runs() if "root" in run.properties}
    return sorted(filter(os.path.isdir, named))


def run_state(run: PipelineRun, executions: list[Execution]) -> str:
    """Where a run stands, in one word."""
    standings = {execution.standing for execution in executions}
    for standing in ("failed", "canceled"):
        if standing in standings:
            return standing
    if is_locked(str(run.properties.get("lock_file", ""))):
        return "running"
    return "died" if "running" in standings or not standings else "complete"


def find_maker(store: Store, artifact: Artifact) -> Execution | None:
    """The execution that made an artifact, if one of the store did."""
    lineage = store.lineage(artifact.id)
    makers = {
        event.execution_id
        for event in lineage.events
        if event.artifact_id == artifact.id and event.type in MADE
    }
    return next((execution for execution in lineage.executions if execution.id in makers), None)
