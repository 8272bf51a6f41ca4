# SPDX-License-Identifier: Apache-2.0
"""Who else is told of a run, such as an MLflow server.

    begin_run, ExecutionRecorder ─▶ Trackers.note(kind, …) ─▶ Tracker.note(event), of each tracker

An event is plain JSON without secrets. Its `kind` is one of these, with what else it has:

    run_began     pipeline, run, root, source, joined     whether it is for one step of a run
    code          step, files, digests                    of a step that is about to be decided on
    step_began    step, execution, parameters, outputs    outputs, if it is going to write some
    step_ended    step, execution, state, outputs, original    the run that a cached step is from
    run_ended     state

To add a tracker:

1. Write a class with the one method of `Tracker` in a file here. The run waits for that method, but
   for nobody else: leave what takes time to a process of its own, as `mlflow_tracker.py` does.
2. Name it in `find_trackers`: when it is wanted, and what is said if its package is missing.
3. If it needs a package, make an extra of it in `pyproject.toml`, and name that in
   `user_code/known_packages.py`.
"""

import importlib.util
import os
from dataclasses import dataclass
from typing import Any, Protocol

from stoker.artifacts import ArtifactMap, every
from stoker.dsl.component import BaseComponent
from stoker.runner.cache import collect_code_parts
from stoker.runner.console import Console
from stoker.runner.plan import StepPlan
from stoker.storage.digests import FileDigests
from stoker.user_code.known_packages import find_package

Event = dict[str, Any]
MLFLOW_URI = "MLFLOW_TRACKING_URI"
"""The environment variable by which MLflow's own programs, and so users, name a server."""


class Tracker(Protocol):
    """Is told what happens in a run. This one writes it down:

    class Diary:
        def note(self, event):
            with open("diary.txt", "a") as file:
                print(event["kind"], event.get("step", ""), file=file)
    """

    def note(self, event: Event) -> None:
        """Take an event; an OSError is told to the user, and ends the tracker, not the run."""


@dataclass(kw_only=True)
class Trackers:
    """All trackers of one run."""

    console: Console
    trackers: list[Tracker]

    def note(self, kind: str, **facts: Any) -> None:
        """Tell everyone, without secrets; whoever fails is told nothing more."""
        event = self.console.secrets.mask({"kind": kind, **facts})
        for tracker in list(self.trackers):
            try:
                tracker.note(event)
            except OSError as error:
                self.trackers.remove(tracker)
                name = type(tracker).__name__
                self.console.step(f"warning: {name} failed, and the run goes on: {error}")

    def note_code(self, node: BaseComponent, plan: StepPlan, digest: FileDigests) -> None:
        """Tell which code of the user's a step has."""
        digests = collect_code_parts(node, plan, digest)
        defined_in = node.executor_spec.class_path.rpartition(":")[0]  # of a @component
        files = dict.fromkeys([*plan.code_files, defined_in])
        scripts = [file for file in files if file.endswith(".py")]
        self.note("code", step=node.id, files=scripts, digests=digests)


def find_trackers(console: Console, temporary_dir: str) -> Trackers | None:
    """The trackers that the user's environment asks for; their files go to `temporary_dir`."""
    if not os.environ.get(MLFLOW_URI):
        return None
    if not _is_installed("mlflow"):
        lack = find_package("mlflow").describe("mlflow")
        console.step(f"{MLFLOW_URI} is set, but {lack} The run goes on without it.")
        return None
    from stoker.runner.mlflow_tracker import MlflowTracker

    try:
        return Trackers(console=console, trackers=[MlflowTracker(temporary_dir, console.step)])
    except OSError as error:
        console.step(f"warning: MLflow is not told of this run: {error}")
        return None


def _is_installed(name: str) -> bool:
    """Whether there is such a package, and not only a folder of that name."""
    found = importlib.util.find_spec(name)
    return found is not None and found.origin is not None


def describe_outputs(outputs: ArtifactMap) -> list[dict[str, Any]]:
    """Outputs as an event has them."""
    return [
        {"type": one.type_name, "uri": one.uri, "properties": dict(one.custom_properties)}
        for one in every(outputs)
    ]
