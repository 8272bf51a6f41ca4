# SPDX-License-Identifier: Apache-2.0
"""What a name on the command line stands for in the store."""

import os

import click

from stoker.any_python.layout import is_remote
from stoker.any_python.lines import did_you_mean
from stoker.artifacts import Artifact, State
from stoker.errors import StoreError
from stoker.metadata.records import ROOT, Execution, PipelineRun
from stoker.metadata.standings import find_maker as find_maker
from stoker.metadata.standings import run_state as run_state
from stoker.metadata.standings import step_state as step_state
from stoker.metadata.store import Store

_NUM_COMPLETED = 50
"""So many runs are enough for a shell to complete."""


def find_run(store: Store, text: str) -> PipelineRun | None:
    """The run with this id or the only one that begins so; `last` is the newest."""
    if text == "last":
        return next(iter(store.runs(newest=1)), None)
    runs = store.runs(begin=text)
    exact = [run for run in runs if run.run_id == text]
    begin_so = exact or [run for run in runs if run.run_id.startswith(text)]
    if len(begin_so) > 1:
        raise click.UsageError(f"{len(begin_so)} runs begin with {text!r}; give more of the id.")
    return begin_so[0] if begin_so else None


def require_run(store: Store, text: str) -> PipelineRun:
    """The run that `find_run` finds; a UsageError if there is none."""
    if run := find_run(store, text):
        return run
    raise click.UsageError(f"There is no run {text!r}. `stoker runs` lists them.")


def find_execution(store: Store, node_id: str, run_id: str | None = None) -> Execution | None:
    """The newest execution of a step, in whichever pipeline and run of the store it is."""
    found = [
        execution
        for name in store.pipelines()
        for execution in store.executions(
            pipeline_name=name, run_id=run_id, node_id=node_id, newest=1
        )
    ]
    return max(found, key=lambda one: one.id, default=None)


def unknown_node(store: Store, node_id: str) -> click.UsageError:
    """What to raise for a name that stands for nothing: it lists the steps that there are."""
    known = list(dict.fromkeys(list_steps(store)))
    return click.UsageError(
        f"There is no run, artifact or step {node_id!r}.{did_you_mean(node_id, known)} "
        f"The steps are {', '.join(known) or '(none)'}."
    )


def is_known(store: Store, name: str) -> bool:
    """Whether a name stands for something in a store: an artifact, a step, a run, a pipeline."""
    if name.isdecimal():
        try:
            return bool(store.artifact(int(name)))
        except StoreError:
            return False
    if find_execution(store, name) or name in store.pipelines():
        return True
    if name == "last" or store.runs(begin=name):
        return True
    return bool(store.artifacts(uri=os.path.abspath(name), states=tuple(State)))


def list_steps(store: Store) -> list[str]:
    """The steps of the newest run of each pipeline."""
    return [
        step.node_id
        for name in store.pipelines()
        for run in store.runs(name, newest=1)
        for step in store.executions(run_id=run.run_id, only=())
    ]


def list_runs(store: Store) -> list[str]:
    """The ids of the newest runs."""
    return [run.run_id for run in store.runs(newest=_NUM_COMPLETED)]


def find_artifact(store: Store, text: str) -> Artifact:
    """The artifact with this id, or at this path."""
    if text.isdecimal():
        try:
            return store.artifact(int(text))
        except StoreError as error:
            raise click.UsageError(str(error)) from error
    uri = text.rstrip("/") if is_remote(text) else os.path.abspath(text)
    found = store.artifacts(uri=uri, states=tuple(State))
    if not found:
        raise click.UsageError(f"There is no artifact at {text}. Name it by its id or its path.")
    return found[-1]


def find_roots(store: Store) -> list[str]:
    """The pipeline roots of all runs, where they are now, if they are still there."""
    named = {str(run.properties[ROOT]) for run in store.runs() if ROOT in run.properties}
    places = {store.moved_roots.get(one, one) for one in named}
    return sorted(one for one in places if is_remote(one) or os.path.isdir(one))


def root_of_run(store: Store, run: PipelineRun) -> str:
    """Where the pipeline root of a run is now."""
    root = str(run.properties.get(ROOT, ""))
    return store.moved_roots.get(root, root)
