# SPDX-License-Identifier: Apache-2.0
"""Where every launcher arrives: one Task runs in this process and becomes an Outcome."""

import contextlib
import inspect
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import stoker.stand_ins.provide  # noqa: F401 - user code names what an installed TFMA lacks
from stoker.any_python.failures import (
    StokerError,
    debugger_hint,
    describe,
    input_hint,
    missing_folder_hint,
    near_name_hint,
)
from stoker.any_python.modules import import_current_sources, load_object
from stoker.any_python.observing import observe_step
from stoker.any_python.own_code import STOKER_DIR
from stoker.any_python.surroundings import PlainRoot, take_over_program, use_temporary_dir
from stoker.artifacts import Artifact, ArtifactMap, every
from stoker.dsl.executor import BaseExecutor, parse_message
from stoker.dsl.function_component import FunctionComponent, FunctionExecutor
from stoker.launchers.heartbeat import join_worker_group
from stoker.patches.changes import after_import
from stoker.patches.tensorflow_estimator import enable_estimators
from stoker.task import Failure, Outcome, Task
from stoker.user_code.installed_names import missing_name_hint
from stoker.user_code.keras_choice import wrong_keras_hint
from stoker.user_code.known_packages import missing_package_hint


def execute(task: Task) -> Outcome:
    """Run a task in this process; whatever it raises becomes a Failure."""
    root = PlainRoot(task.root_dir)
    if not root.is_renamed:
        return _execute(task)
    renamed = Task.from_json(root.enter(replace(task, cluster_address="").to_json()))
    outcome = _execute(renamed)  # other nodes know the root by its name only
    return Outcome.from_json(root.leave(outcome.to_json()))


def _execute(task: Task) -> Outcome:
    use_temporary_dir(task.temporary_dir)
    take_over_program(task.import_paths, task.argv, task.flags)
    import_current_sources()
    try:
        if task.member:
            join_worker_group(task.member, task.needs)
        if task.needs.estimators:
            enable_estimators()
        with _observe(task):
            classes = {name: load_object(where) for name, where in task.artifact_classes.items()}
            outputs = _remake(task.outputs, classes)
            inputs = _remake(task.inputs, classes)
            _make_executor(task).Do(inputs, outputs, _read_parameters(task))
    except (Exception, SystemExit) as error:  # recorded, and raised again by the runner
        keras_hint = wrong_keras_hint(str(error), task.needs)
        hint = missing_package_hint(error) or keras_hint or missing_name_hint(error)
        hint = hint or debugger_hint(error) or missing_folder_hint(error) or input_hint(error)
        hint = hint or near_name_hint(error, lambda: _list_features(task))
        return Outcome(failure=Failure(**describe(error, ours=STOKER_DIR, hint=hint)))
    return Outcome(outputs={key: [one.to_dict() for one in many] for key, many in outputs.items()})


def _list_features(task: Task) -> list[str]:
    """The features of the first example that the task reads; none if there is none to be read."""
    from google.protobuf.message import DecodeError

    from stoker.data.input_files import matching_files
    from stoker.data.tfrecord import read_records
    from stoker.dsl.proto.example_pb2 import Example

    for artifact in task.inputs.get("examples", ()):
        with contextlib.suppress(StokerError, DecodeError):
            for path in matching_files(os.path.join(artifact.uri, "*", "*")):
                for record in read_records(path):
                    return sorted(Example.FromString(record).features.feature)
    return []


def _read_parameters(task: Task) -> dict[str, Any]:
    """The parameters, with those as messages that the step's table says so of."""
    messages = {
        name: parse_message(task.parameters[name], load_object(where)())
        for name, where in task.message_classes.items()
        if name in task.parameters
    }
    return {**task.parameters, **messages}


def _observe(task: Task) -> contextlib.AbstractContextManager[None]:
    """Note what the user's code reads besides what the task says."""
    after_import("tensorflow", _tell_file_reads)
    pipeline_files = _list_pipeline_files(task)
    artifacts = (*every(task.inputs), *every(task.outputs))
    return observe_step(
        observed_dir=task.observed_dir,
        given=task.given,
        import_paths=task.import_paths,
        code_files=[*pipeline_files, *filter(None, [task.user_file])],
        pipeline_files=[file for file in pipeline_files if file != _find_program()],
        not_users=[*task.not_users, *(artifact.uri for artifact in artifacts)],
        moved_to=task.moved_to,
    )


def _tell_file_reads(tensorflow: ModuleType) -> None:
    from stoker.patches.tensorflow import tell_file_reads  # for steps that import TensorFlow

    tell_file_reads(tensorflow)


def _list_pipeline_files(task: Task) -> list[str]:
    """The files of which single definitions count: a task names them as `/path/of/file.py:Name`."""
    references = (task.executor, *task.artifact_classes.values())
    files = (reference.rpartition(":")[0] for reference in references)
    return [os.path.abspath(file) for file in files if file.endswith(".py")]


def _find_program() -> str:
    """The program that runs; where that is the pipeline file, its main guard counts as well."""
    return os.path.abspath(getattr(sys.modules["__main__"], "__file__", None) or os.devnull)


def _remake(
    artifacts: ArtifactMap, classes: Mapping[str, type[Artifact]]
) -> dict[str, list[Artifact]]:
    """Copies of the artifacts, those of the users' own types as instances of their classes."""
    return {
        key: [
            classes.get(artifact.type_name, type(artifact)).from_dict(artifact.to_dict())
            for artifact in many
        ]
        for key, many in artifacts.items()
    }


def _make_executor(task: Task) -> BaseExecutor:
    found: Any = load_object(task.executor)
    context_class = getattr(found, "Context", BaseExecutor.Context)
    context = context_class(
        beam_pipeline_args=list(task.beam_pipeline_args),
        tmp_dir=task.tmp_dir,
        unique_id=str(task.execution_id),
    )
    context.node_id, context.checkpoint_dir = task.node_id, task.checkpoint_dir or None
    context.columns_dir = task.columns_dir or None
    if task.cluster_address:
        from stoker.launchers.ray_pool import RayPool  # for steps on Ray alone

        context.open_cluster = partial(RayPool, task)
    if isinstance(found, FunctionComponent):
        return FunctionExecutor(found, context)
    if not inspect.isclass(found) or not hasattr(found, "Do"):
        raise TypeError(
            f"{task.executor} is {found!r}, and should be an executor: a class with "
            "Do(self, input_dict, output_dict, exec_properties)."
        )
    made: Any = found
    executor: BaseExecutor = made(context)
    return executor
