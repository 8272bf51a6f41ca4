# SPDX-License-Identifier: Apache-2.0
"""WHEN steps run: order, resolve, launch, publish. The only writer of metadata.

For each step: its inputs are resolved, an execution is recorded with its outputs PENDING, a
launcher runs the Task, the files are sealed, and one transaction makes the outputs LIVE.
"""

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stoker.artifacts import STANDARD_TYPES, Artifact, ValueArtifact
from stoker.components.importer import Importer
from stoker.components.resolver import Resolver
from stoker.dsl.channel import Channel
from stoker.dsl.component import BaseComponent, Node
from stoker.dsl.executor import reference_to
from stoker.dsl.parameters import names_in, substitute
from stoker.dsl.pipeline import Pipeline
from stoker.errors import StepFailed
from stoker.launchers import Launcher
from stoker.launchers.processes import Processes
from stoker.liveness import hold_run_lock, is_alive
from stoker.manifest import seal
from stoker.metadata.records import EventType, ExecutionState
from stoker.task import ArtifactMap, Environment, Failure, Outcome, Task
from stoker.user_module.imports import find_module
from stoker.user_module.keras_choice import choose_keras

if TYPE_CHECKING:
    from stoker.metadata.store import Store

__all__ = ["LocalDagRunner", "Run", "intercept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that ended well: where it kept its files, and what every step published."""

    id: str
    pipeline_name: str
    pipeline_root: str
    outputs: Mapping[str, ArtifactMap]


class LocalDagRunner:
    """Runs a pipeline on this machine."""

    def __init__(self, launcher: Launcher | None = None, config: Any = None) -> None:  # noqa: ARG002
        """`config` is accepted for TFX's pipelines; it configures platforms of TFX's own."""
        self._launcher = launcher

    def run(self, pipeline: Pipeline, parameters: Mapping[str, Any] | None = None, **_: Any) -> Run:
        """Run every step of a pipeline; `parameters` are the values of its RuntimeParameters."""
        given = {**(parameters or {}), **_interception.parameters}
        return _run(pipeline, given, self._launcher or Processes())


@dataclass
class _Interception:
    """What `stoker run` adds to the run that a pipeline file starts."""

    parameters: dict[str, Any] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)


_interception = _Interception()


@contextlib.contextmanager
def intercept(parameters: Mapping[str, Any]) -> Iterator[list[Run]]:
    """Take over the runs that are started inside: add parameters, and keep their results."""
    _interception.parameters, _interception.runs = dict(parameters), []
    try:
        yield _interception.runs
    finally:
        _interception.parameters, _interception.runs = {}, []


def _run(pipeline: Pipeline, given: dict[str, Any], launcher: Launcher) -> Run:
    _check_parameters(pipeline, given)
    root = os.path.abspath(substitute(pipeline.pipeline_root, given))
    os.makedirs(root, exist_ok=True)
    environments = {
        node.id: _environment_of(node, node.spec.values(given))
        for node in pipeline.components
        if isinstance(node, BaseComponent)
    }
    with contextlib.closing(launcher):
        # First of all, since importing TensorFlow takes longer than all that comes before it.
        launcher.prepare(dict.fromkeys(environments.values()))
        from stoker.metadata.store import Store  # SQLAlchemy is not for those who only declare

        with (
            Store(pipeline.store_config(root)) as store,
            hold_run_lock(os.path.join(root, ".stoker", "runs")) as (run_id, lock_file),
        ):
            steps = _Steps(
                pipeline=pipeline,
                given=given,
                root=root,
                run_id=run_id,
                store=store,
                launcher=launcher,
                environments=environments,
            )
            steps.close_dead_runs()
            store.begin_run(
                pipeline.pipeline_name, run_id, properties={"lock_file": lock_file, "root": root}
            )
            for node in pipeline.components:
                steps.run(node)
    run = Run(
        id=run_id,
        pipeline_name=pipeline.pipeline_name,
        pipeline_root=root,
        outputs=steps.published,
    )
    _interception.runs.append(run)
    _say_where(run)
    return run


def _say_where(run: Run) -> None:
    _say(f"Run {run.id} of {run.pipeline_name!r} is done. Its outputs:")
    for node_id, outputs in run.outputs.items():
        for key, artifacts in outputs.items():
            for artifact in artifacts:
                _say(f"  {node_id}.{key}: {artifact.uri.removeprefix(os.getcwd() + os.sep)}")


def _check_parameters(pipeline: Pipeline, given: Mapping[str, Any]) -> None:
    values = [pipeline.pipeline_root, *(node.exec_properties for node in pipeline.components)]
    known = set().union(*map(names_in, values))
    if unknown := sorted(set(given) - known):
        raise ValueError(
            f"The pipeline {pipeline.pipeline_name!r} has no runtime parameter {unknown[0]!r}; "
            f"it has {', '.join(sorted(known)) or 'none'}."
        )


@dataclass(kw_only=True)
class _Steps:
    """The steps of one run, and what they have published so far."""

    pipeline: Pipeline
    given: dict[str, Any]
    root: str
    run_id: str
    store: "Store"
    launcher: Launcher
    environments: Mapping[str, Environment]
    published: dict[str, ArtifactMap] = field(default_factory=dict)

    def close_dead_runs(self) -> None:
        """Close what runs that died have left open; those whose lock is held are alive."""
        for execution, run in self.store.unfinished(self.pipeline.pipeline_name):
            lock_file = run.properties.get("lock_file")
            if not (lock_file and is_alive(str(lock_file))):
                self.store.close_execution(
                    execution.id, ExecutionState.FAILED, "The run ended before this step did."
                )

    def run(self, node: Node) -> None:
        """Run one step and publish what it made."""
        match node:
            case Importer():
                self._import(node)
            case Resolver():
                self._resolve(node)
            case BaseComponent():
                self._launch(node)
            case _:
                raise TypeError(f"{node!r} is not a component that this runner can run.")

    def _import(self, node: Importer) -> None:
        artifact = node.artifact(self.given)
        known = self.store.artifacts(type_name=artifact.type_name, uri=artifact.uri)
        digest = artifact.custom_properties["content_digest"]
        same = [old for old in known if old.custom_properties.get("content_digest") == digest]
        with self._execution(node, {}, substitute(node.exec_properties, self.given)) as execution:
            if same and not node.reimport:
                execution.refer_to({node.output_key: same[-1:]})
            else:
                execution.publish({node.output_key: [artifact]})

    def _resolve(self, node: Resolver) -> None:
        candidates = {
            key: self.store.artifacts(
                type_name=channel.type_name,
                pipeline_name=self.pipeline.pipeline_name,
                node_id=channel.producer.id if channel.producer else channel.producer_component_id,
                output_key=channel.output_key,
            )
            for key, channel in node.inputs.items()
        }
        found = node.resolve(candidates, self.store)
        if not any(found.values()):
            wanted = " and ".join(channel.type_name for channel in node.inputs.values())
            _say(f"{node.id}: no {wanted} yet; the steps that asked for it go on without")
        with self._execution(node, {}, node.exec_properties) as execution:
            execution.refer_to(found)

    def _launch(self, node: BaseComponent) -> None:
        inputs = self._inputs_of(node)
        environment = self.environments[node.id]
        parameters = node.spec.values(self.given)
        if environment.keras:
            _say(f"{node.id}: Keras {environment.keras}, because {environment.reason}")
        with self._execution(node, inputs, parameters) as execution:
            tmp_dir = os.path.join(self.root, ".stoker", "tmp", self.run_id, node.id)
            task = Task(
                pipeline_name=self.pipeline.pipeline_name,
                run_id=self.run_id,
                node_id=node.id,
                execution_id=execution.id,
                executor=node.executor_spec.class_path,
                inputs=inputs,
                outputs=execution.outputs,
                parameters=parameters,
                artifact_classes=_users_artifact_classes(node),
                tmp_dir=tmp_dir,
                beam_pipeline_args=tuple(
                    node.beam_pipeline_args or self.pipeline.beam_pipeline_args
                ),
                import_paths=_import_paths(),
                argv=tuple(sys.argv),
                environment=environment,
            )
            for artifact in _all(execution.outputs):
                _make_room(artifact)
            try:
                outcome = self.launcher.launch(task)
            finally:
                shutil.rmtree(tmp_dir, ignore_errors=True)
            execution.publish(_succeeded(node, outcome))

    def _inputs_of(self, node: BaseComponent) -> dict[str, list[Artifact]]:
        """What the steps before have published for each input."""
        inputs = {}
        for key, channel in node.inputs.items():
            found = [one for part in channel.parts for one in self._artifacts_in(part)]
            row = node.spec.INPUTS[key]
            if not found and not (row.optional or row.allow_empty):
                raise StepFailed(
                    f"{node.id} needs {channel.type_name} for {key!r}, and there is none: "
                    f"{channel!r} is empty."
                )
            inputs[key] = found
        return inputs

    def _artifacts_in(self, channel: Channel) -> Sequence[Artifact]:
        if channel.producer is None:
            return [_from_outside(artifact) for artifact in channel.get()]
        return self.published[channel.producer.id].get(str(channel.output_key), [])

    @contextlib.contextmanager
    def _execution(
        self, node: Node, inputs: ArtifactMap, parameters: Mapping[str, Any]
    ) -> Iterator["_Execution"]:
        """Record an execution before it runs, and close it however it ends."""
        started = time.monotonic()
        execution = _Execution(store=self.store, root=self.root, node=node)
        execution.begin(self.pipeline.pipeline_name, self.run_id, inputs, parameters)
        try:
            yield execution
        except KeyboardInterrupt:
            self.store.close_execution(
                execution.id, ExecutionState.CANCELED, "Stopped by the user."
            )
            raise
        except BaseException as error:
            self.store.close_execution(execution.id, ExecutionState.FAILED, _report(error))
            raise
        self.published[node.id] = execution.outputs
        position = len(self.published)
        took = time.monotonic() - started
        _say(f"[{position}/{len(self.pipeline.components)}] {node.id} done in {took:.2f} s")


@dataclass(kw_only=True)
class _Execution:
    """One execution of one step in the store: begun, then published."""

    store: "Store"
    root: str
    node: Node
    id: int = 0
    outputs: ArtifactMap = field(default_factory=dict)

    def begin(
        self,
        pipeline_name: str,
        run_id: str,
        inputs: ArtifactMap,
        parameters: Mapping[str, Any],
    ) -> None:
        """Record the execution as RUNNING, with the outputs that it will write as PENDING."""
        self.id = self.store.begin_execution(
            pipeline_name=pipeline_name,
            run_id=run_id,
            node_id=self.node.id,
            type_name=self.node.type_name,
            base_type=self.node.BASE_TYPE,
            properties=parameters,
            inputs=inputs,
            outputs=self._pending,
            at_least=_first_free_id(self.root, self.node),
        )

    def _pending(self, execution_id: int) -> ArtifactMap:
        if isinstance(self.node, BaseComponent):
            self.outputs = {
                key: [_new_output(self.root, self.node, key, execution_id)]
                for key in self.node.outputs
            }
        return self.outputs

    def publish(self, outputs: ArtifactMap) -> None:
        """Seal the files, write their manifests, then make everything LIVE in one transaction."""
        for key, artifacts in outputs.items():
            for index, artifact in enumerate(artifacts):
                manifest = seal(artifact.uri)
                artifact.custom_properties["content_digest"] = manifest.digest
                name = f"{self.id}.json" if index == 0 else f"{self.id}-{index}.json"
                folder = os.path.join(self.root, ".stoker", "manifests", self.node.id, key)
                manifest.write(os.path.join(folder, name))
        self.store.publish(self.id, outputs)
        self.outputs = outputs

    def refer_to(self, outputs: ArtifactMap) -> None:
        """Publish artifacts that are LIVE already."""
        self.store.publish(self.id, outputs, event=EventType.INTERNAL_OUTPUT)
        self.outputs = outputs


def _environment_of(node: BaseComponent, parameters: dict[str, Any]) -> Environment:
    """The process that a step needs; one of ours that loads no user code needs nothing."""
    code = node.user_code(parameters)
    if code is None:
        return Environment(preload=node.PRELOAD)
    paths = _import_paths()
    file = code.module_file or (code.module and find_module(code.module, paths))
    return choose_keras(file, explicit=code.keras, environ=os.environ, import_paths=paths)


def _import_paths() -> tuple[str, ...]:
    return tuple(path or os.getcwd() for path in sys.path)


def _first_free_id(root: str, node: Node) -> int:
    """One more than the highest number of an output directory: none is ever written twice."""
    numbers = [0]
    for key in node.outputs:
        with contextlib.suppress(FileNotFoundError):
            names = os.listdir(os.path.join(root, node.id, key))
            numbers += [int(name) for name in names if name.isdigit()]
    return max(numbers) + 1


def _new_output(root: str, node: BaseComponent, key: str, execution_id: int) -> Artifact:
    channel = node.outputs[key]
    artifact = channel.type()
    for declared in channel.get():  # old components put properties on an artifact of the channel
        artifact.properties |= declared.properties
        artifact.custom_properties |= declared.custom_properties
    artifact.properties |= channel.additional_properties
    artifact.custom_properties |= channel.additional_custom_properties
    artifact.uri = os.path.join(root, node.id, key, str(execution_id))
    if isinstance(artifact, ValueArtifact):
        artifact.uri = os.path.join(artifact.uri, "value")
    return artifact


def _from_outside(artifact: Artifact) -> Artifact:
    """A copy for this run; an id that the artifact has may be from another run's store."""
    copied = type(artifact).from_dict({**artifact.to_dict(), "id": 0})
    copied.uri = os.path.abspath(artifact.uri)
    return copied


def _make_room(artifact: Artifact) -> None:
    is_file = isinstance(artifact, ValueArtifact)
    os.makedirs(os.path.dirname(artifact.uri) if is_file else artifact.uri)


def _users_artifact_classes(node: Node) -> dict[str, str]:
    """Where the user's own artifact classes are that a step reads and writes."""
    kinds = {channel.type for channel in (*node.inputs.values(), *node.outputs.values())}
    return {
        str(kind.TYPE_NAME): reference_to(kind)
        for kind in kinds
        if kind.TYPE_NAME not in STANDARD_TYPES
    }


def _all(artifacts: ArtifactMap) -> Iterator[Artifact]:
    return (artifact for many in artifacts.values() for artifact in many)


def _succeeded(node: Node, outcome: Outcome) -> ArtifactMap:
    """The outputs, with what the executor said about them; raises if it failed."""
    if outcome.canceled:
        raise KeyboardInterrupt
    if outcome.failure:
        raise _as_error(node, outcome.failure)
    result: dict[str, list[Artifact]] = {}
    for key, records in outcome.outputs.items():
        kind = node.outputs[key].type
        artifacts = [kind.from_dict(record) for record in records]
        # A value that the function did not return has no file.
        result[key] = [
            one
            for one in artifacts
            if not isinstance(one, ValueArtifact) or os.path.exists(one.uri)
        ]
    return result


def _as_error(node: Node, failure: Failure) -> StepFailed:
    """The user's own traceback is shown first, then what the runner has to say."""
    if failure.traceback:
        _say(failure.traceback.rstrip())
    message = f"{node.id} failed: {failure.kind}: {failure.message}"
    return StepFailed(f"{message}\n{failure.hint}".rstrip(), failure.traceback)


def _report(error: BaseException) -> str:
    """What the store keeps of an error: the user's traceback, where there is one."""
    return "\n".join(filter(None, (getattr(error, "traceback", ""), str(error))))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
