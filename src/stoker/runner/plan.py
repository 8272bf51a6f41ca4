# SPDX-License-Identifier: Apache-2.0
"""What is decided before anything is started: what the run is asked for, each step's process."""

import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stoker.any_python.layout import is_remote
from stoker.artifacts import STANDARD_TYPES, is_annotated_value
from stoker.dsl.component import BaseComponent, Node, UserCode
from stoker.dsl.executor import reference_to
from stoker.dsl.partial_run import Choice
from stoker.dsl.pipeline import Pipeline
from stoker.dsl.users_files import find_users_path
from stoker.errors import StokerError
from stoker.task import ProcessNeeds
from stoker.user_code.fingerprint import files_of
from stoker.user_code.imports import find_module, find_package_versions
from stoker.user_code.keras_choice import choose_keras, users_environ
from stoker.user_code.strategies import cluster_for


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What is asked of a run, besides its pipeline."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The values of the pipeline's RuntimeParameters."""
    force: Collection[str] = ()
    """The steps that run even if nothing changed."""
    fresh: bool = False
    """Whether resumable steps start from the beginning."""
    done: Collection[str] = ()
    """The ManualNodes whose work a person has done."""
    choice: Choice | None = None
    """The steps that are run, of a partial run; None for all of them."""
    report: bool = False
    """Whether a page about the run is written at its end, however it ends."""
    leaves_retries: bool = False
    """Whether it is for others to start a step again that has failed."""
    profile: bool = False
    """Whether it is told at the end where the time went."""
    parallel: int | None = None
    """How many steps may run at the same time; None for as many as there are processors."""

    def count_steps(self, pipeline: Pipeline) -> int:
        """How many steps the run has, those among them that give earlier outputs."""
        choice = self.choice
        return len(choice.run) + len(choice.reuse) if choice else len(pipeline.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """What is known of a step before the run has published anything."""

    parameters: Mapping[str, Any]
    """As plain JSON; those that other steps compute are not among them yet."""
    user_file: str | None
    """The user's own file that the step will load, if it loads one and it is found."""
    code_files: Sequence[str]
    """That file, and those that it imports from its own folder."""
    package_versions: Mapping[str, str]
    """Of the installed packages that these import, where it is this interpreter that runs them."""
    artifact_classes: Mapping[str, str]
    """The user's own artifact types that it reads or writes, and where their classes are."""
    import_paths: tuple[str, ...]
    """Where user code finds its imports: as this program does."""
    needs: ProcessNeeds


def plan_steps(
    steps: Iterable[Node], given: dict[str, Any]
) -> tuple[dict[str, StepPlan], dict[str, str]]:
    """The plan of each step, and why the others cannot have one.

    Where either Keras will do, it is that of another step.
    """
    plans: dict[str, StepPlan] = {}
    problems: dict[str, str] = {}
    for node in steps:
        if isinstance(node, BaseComponent):
            try:
                plans[node.id] = plan_step(node, node.spec.values(given))
            except (StokerError, ValueError) as error:
                problems[node.id] = str(error)
    keras = next((plan.needs.keras for plan in plans.values() if plan.needs.keras), None)
    for node_id, plan in plans.items():
        needs = plan.needs
        if needs.tensorflow and not (needs.keras or needs.python):
            plans[node_id] = replace(plan, needs=replace(needs, keras=keras))
    return plans, problems


def plan_step(node: BaseComponent, parameters: dict[str, Any]) -> StepPlan:
    """The plan of a step with these parameters."""
    paths = _list_import_paths()
    parameters = {key: _find_file(node, key, value, paths) for key, value in parameters.items()}
    code = node.user_code(parameters)
    file = code.module_file if code else None
    if code and code.module and not file:
        file = find_module(code.module, paths)
    needs = _find_needs(node, code, file, paths)
    found = file if file and os.path.isfile(file) else None
    return StepPlan(
        parameters=parameters,
        user_file=file,
        code_files=files_of(found, paths) if found else (),
        package_versions=find_package_versions(found, paths) if found and not needs.python else {},
        artifact_classes=_find_users_artifact_classes(node),
        import_paths=paths,
        needs=needs,
    )


def _find_file(node: BaseComponent, key: str, value: Any, paths: Sequence[str]) -> Any:
    """A parameter, with the path that it means if it names a file; a module may go by its name."""
    if not (node.spec.PARAMETERS[key].names_file and isinstance(value, str)):
        return value
    if key == "module_file" and is_remote(value):
        from stoker.runner.away import stage_module

        return stage_module(value)
    path = find_users_path(value, node.spec.declaring_folder)
    is_dotted_name = all(part.isidentifier() for part in path.split("."))
    if key == "module_file" and is_dotted_name and not os.path.exists(path):
        return find_module(path, paths) or path
    return path


def _find_users_artifact_classes(node: BaseComponent) -> dict[str, str]:
    kinds = {channel.type for channel in (*node.inputs.values(), *node.outputs.values())}
    return {
        str(kind.TYPE_NAME): reference_to(kind)
        for kind in kinds
        if kind.TYPE_NAME not in STANDARD_TYPES and not is_annotated_value(str(kind.TYPE_NAME))
    }


def _list_import_paths() -> tuple[str, ...]:
    return tuple(path or os.getcwd() for path in sys.path)


def _find_needs(
    node: BaseComponent, code: UserCode | None, file: str | None, paths: Sequence[str]
) -> ProcessNeeds:
    """The process that a step needs; one of ours that loads no user code needs little."""
    if code is None:
        return ProcessNeeds(
            tensorflow=node.USES_TENSORFLOW, preload=node.PRELOAD, shards=node.WORKS_ON_SHARDS
        )
    chosen = choose_keras(file, explicit=code.keras, environ=users_environ(), import_paths=paths)
    if code.python:
        return _find_needs_elsewhere(node, code.python, chosen)
    chosen = replace(chosen, cluster=cluster_for(node.workers, file, chosen, paths))
    if node.USES_TENSORFLOW and not chosen.tensorflow:
        chosen = replace(chosen, tensorflow=True, keras=2, reason="its module names no Keras.")
    preload = (*chosen.preload, *node.PRELOAD)
    return replace(chosen, preload=preload, shards=node.WORKS_ON_SHARDS)


def _find_needs_elsewhere(node: BaseComponent, python: str, chosen: ProcessNeeds) -> ProcessNeeds:
    """The process of a step whose code runs in another interpreter."""
    from stoker.launchers.interpreters.venvs import resolve  # most have none

    there = resolve(python)
    if chosen.tensorflow and not there.tensorflow:
        raise StokerError(
            f"{node.id} needs TensorFlow, and there is none in {there.path}. Install it there, or "
            "make an environment that has it: stoker env create tf-2.15."
        )
    return ProcessNeeds(
        tensorflow=chosen.tensorflow, python=there.path, reason=f"{there}, at {there.path}"
    )
