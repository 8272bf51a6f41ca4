# SPDX-License-Identifier: Apache-2.0
"""WHEN steps run: order, resolve, cache, launch, publish. The only writer of metadata.

For each step: its inputs are resolved; if nothing changed since an earlier execution, that one's
outputs are given again; else a launcher runs the Task, and the execution is published.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from stoker.any_python.flags import flags_of_this_program
from stoker.artifacts import STANDARD_TYPES, Artifact, ArtifactMap, ValueArtifact, every
from stoker.components.importer import Importer
from stoker.components.resolver import Resolver
from stoker.dsl.channel import Channel
from stoker.dsl.component import BaseComponent, Node
from stoker.dsl.conditions import Absent
from stoker.dsl.executor import reference_to
from stoker.dsl.parameters import names_in, substitute
from stoker.dsl.pipeline import Pipeline
from stoker.errors import StepFailed, StokerError
from stoker.launchers import Launcher
from stoker.launchers.processes import Processes
from stoker.metadata.masking import masked
from stoker.metadata.records import SKIPPED, ExecutionState
from stoker.metadata.records import Execution as Record
from stoker.runner import cache
from stoker.runner.process_needs import find_process_needs, import_paths
from stoker.storage.file_digests import FileDigests
from stoker.storage.locks import hold_dir, hold_run_lock, is_locked
from stoker.storage.root import Root
from stoker.task import Failure, Outcome, ProcessNeeds, Task
from stoker.training.progress import Console
from stoker.training.stopping import listening

if TYPE_CHECKING:
    from stoker.metadata.store import Store
    from stoker.runner.execution import Execution

__all__ = ["LocalDagRunner", "Run", "intercept", "run_step"]


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

    def run(
        self,
        pipeline: Pipeline,
        parameters: Mapping[str, Any] | None = None,
        *,
        force: Collection[str] = (),
        fresh: bool = False,
        **_: Any,
    ) -> Run:
        """Run every step of a pipeline.

        `parameters` are the values of its RuntimeParameters; the steps in `force` run even if
        nothing changed. With `fresh`, trainings and searches start from the beginning, whatever
        a run that was stopped has left.
        """
        given = {**(parameters or {}), **_interception.parameters}
        forced = {*force, *_interception.force}
        fresh = fresh or _interception.fresh
        launcher = _interception.launcher or self._launcher or Processes()
        with listening():
            run = _run(pipeline, given, forced, fresh, launcher)
        _interception.runs.append(run)
        return run


@dataclass
class _Interception:
    """What `stoker run` adds to the run that a pipeline file starts."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    force: Collection[str] = ()
    fresh: bool = False
    launcher: Launcher | None = None
    runs: list[Run] = field(default_factory=list)


_interception = _Interception()


@contextlib.contextmanager
def intercept(
    parameters: Mapping[str, Any],
    force: Collection[str] = (),
    fresh: bool = False,
    launcher: Launcher | None = None,
) -> Iterator[list[Run]]:
    """Take over the runs that are started inside: add to them, and keep their results."""
    global _interception
    outer = _interception
    _interception = _Interception(parameters, force, fresh, launcher)
    try:
        yield _interception.runs
    finally:
        _interception = outer


def run_step(
    pipeline: Pipeline,
    node: Node,
    *,
    before: Mapping[str, ArtifactMap],
    skipped: Collection[str],
    fresh: bool,
    launcher: Launcher,
    console: Console,
) -> tuple[Record, ArtifactMap]:
    """Run one step of a pipeline, as a notebook does: its execution, and what it has published.

    `before` is what the steps that it reads from have published, in runs of their own; `skipped`
    are those of them that a condition has left out.
    """
    with (
        listening(),
        contextlib.closing(launcher),
        contextlib.closing(console),
        _begun(pipeline, {}, (), fresh, launcher, console) as steps,
    ):
        steps.alone = True
        steps.published.update(before)
        steps.skipped.update(skipped)
        steps.run(node)
        (execution,) = steps.store.executions(run_id=steps.run_id)
    return execution, steps.published[node.id]


def _run(
    pipeline: Pipeline,
    given: dict[str, Any],
    forced: Collection[str],
    fresh: bool,
    launcher: Launcher,
) -> Run:
    _check_names(pipeline, given, forced)
    with contextlib.closing(launcher), contextlib.closing(Console()) as console:
        with _begun(pipeline, given, forced, fresh, launcher, console) as steps:
            for node in pipeline.components:
                steps.run(node)
        console.step(f"Run {steps.run_id} of {pipeline.pipeline_name!r} is done. Its outputs:")
        for line in _where_outputs_are(steps.published):
            console.step(f"  {line}")
    return Run(
        id=steps.run_id,
        pipeline_name=pipeline.pipeline_name,
        pipeline_root=steps.root.path,
        outputs=steps.published,
    )


@contextlib.contextmanager
def _begun(
    pipeline: Pipeline,
    given: dict[str, Any],
    forced: Collection[str],
    fresh: bool,
    launcher: Launcher,
    console: Console,
) -> Iterator["_Steps"]:
    """A run that is recorded and holds its lock, for its steps to be run inside."""
    root = Root(os.path.abspath(substitute(pipeline.pipeline_root, given)))
    _check_writable(root)
    needs = find_process_needs(pipeline, given)
    config = pipeline.store_config(root.path)
    if not (pipeline.enable_cache and config.exists()):
        # First of all, since importing TensorFlow takes longer than all that comes before it.
        launcher.prepare(dict.fromkeys(needs.values()))
    from stoker.metadata.store import Store  # SQLAlchemy is not for those who only declare

    with Store(config) as store, hold_run_lock(root) as run_id:
        steps = _Steps(
            pipeline=pipeline,
            given=given,
            forced=forced,
            fresh=fresh,
            root=root,
            run_id=run_id,
            store=store,
            launcher=launcher,
            console=console,
            needs=needs,
            digest=FileDigests(root.digests_file),
        )
        steps.close_dead_runs()
        store.begin_run(
            pipeline.pipeline_name,
            run_id,
            properties={"lock_file": root.run_lock(run_id), "root": root.path},
        )
        try:
            yield steps
        finally:
            shutil.rmtree(steps.tmp_dir, ignore_errors=True)


def _where_outputs_are(published: Mapping[str, ArtifactMap]) -> Iterator[str]:
    for node_id, outputs in published.items():
        for key, artifacts in outputs.items():
            for artifact in artifacts:
                yield f"{node_id}.{key}: {artifact.uri.removeprefix(os.getcwd() + os.sep)}"


def _check_names(pipeline: Pipeline, given: Mapping[str, Any], forced: Collection[str]) -> None:
    values = [pipeline.pipeline_root, *(node.exec_properties for node in pipeline.components)]
    known = set().union(*map(names_in, values))
    if unknown := sorted(set(given) - known):
        raise ValueError(
            f"The pipeline {pipeline.pipeline_name!r} has no runtime parameter {unknown[0]!r}; "
            f"it has {', '.join(sorted(known)) or 'none'}."
        )
    nodes = [node.id for node in pipeline.components]
    if unknown := sorted(set(forced) - set(nodes)):
        raise ValueError(
            f"The pipeline {pipeline.pipeline_name!r} has no step {unknown[0]!r} to force; "
            f"it has {', '.join(nodes)}."
        )


def _check_writable(root: Root) -> None:
    try:
        os.makedirs(root.own_dir, exist_ok=True)
        with tempfile.TemporaryFile(dir=root.own_dir) as file:
            file.write(bytes(1 << 18))  # a store that finds no room says less clearly why
    except OSError as error:
        raise StokerError(
            f"Cannot write to the pipeline root {root.path}: {error.strerror}. Choose another "
            "pipeline_root, or make room and give yourself the right to write there."
        ) from error


@dataclass(kw_only=True)
class _Steps:
    """The steps of one run, and what they have published so far."""

    pipeline: Pipeline
    given: dict[str, Any]
    forced: Collection[str]
    fresh: bool
    root: Root
    run_id: str
    store: "Store"
    launcher: Launcher
    console: Console
    needs: Mapping[str, ProcessNeeds]
    digest: FileDigests
    published: dict[str, ArtifactMap] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    alone: bool = False
    """Whether only one step is run, those before it having had runs of their own."""

    @property
    def tmp_dir(self) -> str:
        """What the steps of this run may write and nobody needs afterwards."""
        return self.root.tmp_dir(self.run_id)

    def close_dead_runs(self) -> None:
        """Close what runs that died have left open; those whose lock is held are alive."""
        for execution, run in self.store.unfinished(self.pipeline.pipeline_name):
            lock_file = run.properties.get("lock_file")
            if not (lock_file and is_locked(str(lock_file))):
                self.store.close_execution(
                    execution.id, ExecutionState.FAILED, "The run ended before this step did."
                )

    def run(self, node: Node) -> None:
        """Run one step and publish what it made, unless a condition says not to."""
        if why_not := self._why_not(node):
            self._skip(node, why_not)
            return
        match node:
            case Importer():
                self._import(node)
            case Resolver():
                self._resolve(node)
            case BaseComponent():
                self._run_component(node)
            case _:
                raise TypeError(f"{node!r} is not a component that this runner can run.")

    def _why_not(self, node: Node) -> str:
        """Why a step is not to be run: a condition does not hold, or its inputs were not made."""
        for channel in node.asked_channels:
            if left_out := self._left_out(channel):
                return f"{left_out} was not run"
        for condition in node.conditions:
            try:
                if not condition.holds(self._all_in):
                    return f"it is not so that {condition}"
            except Absent as absent:
                return str(absent)
            except ValueError as error:
                raise StepFailed(f"{node.id}: its condition cannot be judged: {error}") from error
        for key, channel in node.inputs.items():
            needed = isinstance(node, BaseComponent) and node.spec.INPUTS[key].required
            if needed and (left_out := self._left_out(channel)) and not self._all_in(channel):
                return f"its {key!r} comes from {left_out}, which was not run"
        return ""

    def _left_out(self, channel: Channel) -> str:
        """The step that should have filled a channel and was not run, if there is one."""
        makers = [part.producer.id for part in channel.parts if part.producer]
        return next((maker for maker in makers if maker in self.skipped), "")

    def _skip(self, node: Node, why_not: str) -> None:
        """Record that a step was not run."""
        from stoker.runner.execution import Execution

        execution = Execution(store=self.store, root=self.root, node=node)
        execution.begin(
            pipeline_name=self.pipeline.pipeline_name,
            run_id=self.run_id,
            inputs={},
            properties={SKIPPED: why_not},
            writes=False,
        )
        self.store.close_execution(execution.id, ExecutionState.CANCELED, f"Not run: {why_not}.")
        self.skipped.add(node.id)
        self.published[node.id] = {}
        self.console.step(f"{self._position}{node.id} not run: {why_not}")

    @property
    def _position(self) -> str:
        return "" if self.alone else f"[{len(self.published)}/{len(self.pipeline.components)}] "

    def _import(self, node: Importer) -> None:
        artifact = node.artifact(self.given)
        known = self.store.artifacts(type_name=artifact.type_name, uri=artifact.uri)
        digest = artifact.custom_properties["content_digest"]
        same = [old for old in known if old.custom_properties.get("content_digest") == digest]
        with self._execution(node, {}, substitute(node.exec_properties, self.given)) as execution:
            if same and not node.reimport:
                execution.refer_to({node.output_key: same[-1:]})
            else:
                execution.adopt({node.output_key: [artifact]})

    def _resolve(self, node: Resolver) -> None:
        candidates = {key: self._candidates(node, channel) for key, channel in node.inputs.items()}
        found = node.resolve(candidates, self.store)
        while damaged := {one.id: why for one in every(found) if (why := cache.changed(one))}:
            for why in damaged.values():
                self.console.step(f"{node.id}: passed over, because {why}")
            candidates = {
                key: [one for one in many if one.id not in damaged]
                for key, many in candidates.items()
            }
            found = node.resolve(candidates, self.store)
        if not any(found.values()):
            wanted = " and ".join(channel.type_name for channel in node.inputs.values())
            self.console.step(f"{node.id}: no {wanted} yet; the steps that want it go on without")
        with self._execution(node, {}, node.exec_properties) as execution:
            execution.refer_to(found)

    def _candidates(self, node: Resolver, channel: Channel) -> list[Artifact]:
        """What earlier runs have published for a Resolver's channel, oldest first."""
        producer = channel.producer.id if channel.producer else channel.producer_component_id
        return self.store.artifacts(
            type_name=channel.type_name,
            pipeline_name=None if node.across_pipelines else self.pipeline.pipeline_name,
            node_id=None if node.across_pipelines else producer,
            output_key=channel.output_key,
        )

    def _run_component(self, node: BaseComponent) -> None:
        inputs = self._inputs_of(node)
        parameters = self._parameters_of(node)
        parts: Mapping[str, str] = {}
        decision: cache.Hit | cache.Miss = cache.Miss("miss: Pipeline(enable_cache=False)")
        if self.pipeline.enable_cache:
            parts = self._parts_of(node, inputs, parameters)
            decision = self._decide(node, parts)
        properties = {
            **masked(parameters),
            "cache_explanation": decision.explanation,
            "cache_parts": dict(parts),
            "cache_key": cache.key_of(parts) if parts else "",
        }
        if isinstance(decision, cache.Hit):
            with self._execution(node, inputs, properties, how="cached") as execution:
                execution.reuse(self.store.outputs(decision.execution_id))
            return
        if node.RESUMABLE and not parts:
            parts = self._parts_of(node, inputs, parameters)
        with self._checkpoints(node, parts) as checkpoint_dir:
            self._launch(node, inputs, parameters, properties, checkpoint_dir)

    def _parameters_of(self, node: BaseComponent) -> dict[str, Any]:
        try:
            return node.spec.values(self.given, self._all_in)
        except (Absent, TypeError) as error:
            raise StepFailed(f"{node.id}: a parameter has no value that fits: {error}") from error

    def _parts_of(
        self, node: BaseComponent, inputs: ArtifactMap, parameters: Mapping[str, Any]
    ) -> Mapping[str, str]:
        parts = cache.parts_of(
            node,
            inputs=inputs,
            parameters=parameters,
            needs=self.needs[node.id],
            digest=self.digest,
            import_paths=import_paths(),
        )
        self.digest.save()
        return parts

    def _decide(self, node: BaseComponent, parts: Mapping[str, str]) -> cache.Hit | cache.Miss:
        if node.id in self.forced:
            return cache.Miss("miss: asked for with --force")
        decision = cache.decide(
            parts,
            self._past(node, newest=10, having={"cache_key": cache.key_of(parts)}),
            next(iter(self._past(node, newest=1)), None),
            self.digest,
        )
        if isinstance(decision, cache.Hit):
            wrong = cache.damage(self.store.outputs(decision.execution_id))
            return cache.Miss(f"miss: {wrong}") if wrong else decision
        return decision

    def _past(self, node: Node, **wanted: Any) -> list[cache.Past]:
        """Earlier executions of a step that ended well, newest first."""
        executions = self.store.executions(
            pipeline_name=self.pipeline.pipeline_name,
            node_id=node.id,
            states=(ExecutionState.COMPLETE,),
            **wanted,
        )
        return [cache.Past.of(execution) for execution in reversed(executions)]

    def _checkpoints(
        self, node: BaseComponent, parts: Mapping[str, str]
    ) -> contextlib.AbstractContextManager[str]:
        """Where a resumable step finds how far an earlier run of the same work was.

        While another run is at the same work, this one starts anew too.
        """
        if not node.RESUMABLE:
            return contextlib.nullcontext("")
        same_work = self.root.checkpoint_dir(node.id, cache.work_key_of(node, parts))
        alone = os.path.join(self.tmp_dir, node.id, "checkpoints")
        return hold_dir(same_work, otherwise=alone, fresh=self.fresh)

    def _launch(
        self,
        node: BaseComponent,
        inputs: ArtifactMap,
        parameters: Mapping[str, Any],
        properties: Mapping[str, Any],
        checkpoint_dir: str,
    ) -> None:
        needs = self.needs[node.id]
        self.launcher.prepare(self._needs_from(node))
        if needs.python:
            self.console.step(f"{node.id}: {needs.reason}")
        elif needs.keras and needs.reason:
            self.console.step(f"{node.id}: Keras {needs.keras}, because {needs.reason}")
        with self._execution(node, inputs, properties, writes=True) as execution:
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
                tmp_dir=os.path.join(self.tmp_dir, node.id),
                checkpoint_dir=checkpoint_dir,
                log_file=self._log_file(node, execution),
                beam_pipeline_args=tuple(
                    node.beam_pipeline_args or self.pipeline.beam_pipeline_args
                ),
                import_paths=import_paths(),
                argv=tuple(sys.argv),
                flags=flags_of_this_program(),
                needs=needs,
                workers=node.workers,
                retries=node.retries,
            )
            outcome = self.launcher.launch(task, self.console)
            outputs = _succeeded(node, outcome)
            for check in node.checks:
                task = replace(
                    task,
                    executor=check,
                    outputs=outputs,
                    needs=needs.at_home(),
                    workers=None,
                    retries=None,
                )
                outputs = _succeeded(node, self.launcher.launch(task, self.console))
            loaded = {path: self.digest(path) for path in outcome.loaded_files}
            execution.publish(outputs, {"loaded_files": loaded})

    def _needs_from(self, node: Node) -> list[ProcessNeeds]:
        """What this step and those after it need."""
        rest = self.pipeline.components[self.pipeline.components.index(node) :]
        return [self.needs[one.id] for one in rest if one.id in self.needs]

    def _log_file(self, node: Node, execution: "Execution") -> str:
        """A Trainer's log belongs to its ModelRun; others' are kept with the runner's own files."""
        if run := execution.outputs.get("model_run"):
            return os.path.join(run[0].uri, "log.txt")
        return self.root.log_file(node.id, execution.id)

    def _inputs_of(self, node: BaseComponent) -> dict[str, list[Artifact]]:
        """What the steps before have published for each input."""
        inputs = {}
        for key, channel in node.inputs.items():
            found = self._all_in(channel)
            if not found and node.spec.INPUTS[key].required:
                raise StepFailed(
                    f"{node.id} needs {channel.type_name} for {key!r}, and there is none: "
                    f"{channel!r} is empty."
                )
            inputs[key] = found
        return inputs

    def _all_in(self, channel: Channel) -> list[Artifact]:
        return [one for part in channel.parts for one in self._artifacts_in(part)]

    def _artifacts_in(self, channel: Channel) -> Sequence[Artifact]:
        if channel.producer is None:
            return [_from_outside(artifact) for artifact in channel.get()]
        return self.published[channel.producer.id].get(str(channel.output_key), [])

    @contextlib.contextmanager
    def _execution(
        self,
        node: Node,
        inputs: ArtifactMap,
        properties: Mapping[str, Any],
        *,
        writes: bool = False,
        how: str = "done",
    ) -> Iterator["Execution"]:
        """Record an execution before it runs, and close it however it ends."""
        from stoker.runner.execution import Execution

        started = time.monotonic()
        execution = Execution(store=self.store, root=self.root, node=node)
        execution.begin(
            pipeline_name=self.pipeline.pipeline_name,
            run_id=self.run_id,
            inputs=inputs,
            properties=properties,
            writes=writes,
        )
        with execution.closed_on_failure():
            yield execution
        self.published[node.id] = execution.outputs
        self.console.step(f"{self._position}{node.id} {how} in {time.monotonic() - started:.2f} s")


def _from_outside(artifact: Artifact) -> Artifact:
    """A copy for this run; an id that the artifact has may be from another run's store."""
    copied = type(artifact).from_dict({**artifact.to_dict(), "id": 0})
    copied.uri = os.path.abspath(artifact.uri)
    return copied


def _users_artifact_classes(node: Node) -> dict[str, str]:
    """Where the user's own artifact classes are that a step reads and writes."""
    kinds = {channel.type for channel in (*node.inputs.values(), *node.outputs.values())}
    return {
        str(kind.TYPE_NAME): reference_to(kind)
        for kind in kinds
        if kind.TYPE_NAME not in STANDARD_TYPES
    }


def _succeeded(node: Node, outcome: Outcome) -> dict[str, list[Artifact]]:
    """The outputs, with what the executor said about them; raises if it failed."""
    if outcome.canceled:
        raise KeyboardInterrupt
    if outcome.failure:
        raise _as_error(node, outcome.failure)
    result = {}
    for key, records in outcome.outputs.items():
        artifacts = [node.outputs[key].type.from_dict(record) for record in records]
        # A value that the function did not return has no file.
        result[key] = [
            one
            for one in artifacts
            if not isinstance(one, ValueArtifact) or os.path.exists(one.uri)
        ]
    return result


def _as_error(node: Node, failure: Failure) -> StepFailed:
    """The user's own traceback is shown first, then what the runner has to say."""
    message = failure.message
    if failure.traceback:
        print(failure.traceback.rstrip(), file=sys.stderr, flush=True)
        message = message.strip().partition("\n")[0]  # the rest of it has just been printed
    text = f"{node.id} failed: {failure.kind}: {message}\n{failure.hint}"
    return StepFailed(text.rstrip(), failure.traceback)
