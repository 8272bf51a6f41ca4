# SPDX-License-Identifier: Apache-2.0
"""The steps of one run. The only writer of metadata.

For each step: its inputs are resolved; if nothing changed since an earlier execution, that one's
outputs are given again; else a launcher runs the Task, and the execution is published.

Steps may be under way at the same time (`side_by_side.py`), each as a `Work`. They take turns: only
their tasks run beside each other, and nothing here is done by two threads.
"""

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from stoker.any_python.layout import is_remote
from stoker.any_python.notes import read_journals
from stoker.any_python.surroundings import flags_of_this_program
from stoker.any_python.url_files import PlaceError
from stoker.artifacts import Artifact, ArtifactMap, ValueArtifact, every
from stoker.components.importer import Importer
from stoker.components.manual_node import ManualNode
from stoker.components.resolver import Resolver
from stoker.dsl.channel import Channel
from stoker.dsl.component import BaseComponent, Node
from stoker.dsl.parameters import substitute
from stoker.dsl.pipeline import Pipeline
from stoker.dsl.placeholders import Absent, Facts, fill_in, placeholders_in
from stoker.errors import BadData, StepFailed
from stoker.launchers import Launcher
from stoker.metadata.masking import find_secrets, mask_secrets
from stoker.metadata.records import (
    NUM_STEPS,
    ExecutionState,
)
from stoker.runner import cache
from stoker.runner.cache import Given, Notes
from stoker.runner.console import Console
from stoker.runner.endings import make_stop, tell_failure
from stoker.runner.inputs import (
    Round,
    Rounds,
    copy_from_outside,
    find_damage_of_any,
    is_named_by_url,
    name_places,
    refuse_damaged_inputs,
)
from stoker.runner.plan import RunOptions, StepPlan, plan_step
from stoker.runner.recorder import ExecutionRecorder
from stoker.runner.tracking import Trackers
from stoker.storage.digests import FileDigests
from stoker.storage.files import remove_dir
from stoker.storage.locks import discard_dir, hold_dir
from stoker.storage.root import Root
from stoker.task import Outcome, ProcessNeeds, Task

if TYPE_CHECKING:
    from stoker.metadata.store import Store
    from stoker.runner.away import Away

Launched: TypeAlias = Callable[[], Outcome]
"""What came of a task: its Outcome, or what its launcher raised."""
Work: TypeAlias = Generator[Task, Launched, None]
"""A step that is under way: it gives each Task to be launched, and is sent what came of it."""

_OBSERVED = "observed"
ENDED_BEFORE = "The run ended before this step did."


@dataclass(kw_only=True)
class Steps:
    """The steps of one run, and what they have published so far."""

    pipeline: Pipeline
    options: RunOptions
    root: Root
    run_id: str
    temporary_dir: str
    store: "Store"
    launcher: Launcher
    console: Console
    plans: Mapping[str, StepPlan]
    digest: FileDigests
    alone: bool = False
    scratch_name: str = ""
    """What the run's scratch folder is named after: the run, or a step that has joined it."""
    waited_after: int | None = None
    """The last execution of this step in this run, when it began to wait for another process."""
    num_steps: int = 1
    num_executions: int = field(init=False)
    """How many there will be: more than steps, if those in loops run more than once."""
    rounds: Rounds = field(init=False)
    trackers: Trackers | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.num_executions = self.num_steps
        self.rounds = Rounds(find_elsewhere=self._find_elsewhere)

    def keep_secret(self, *values: Any) -> None:
        """Let nothing that the run prints or records quote the secrets in these values."""
        self.console.secrets |= find_secrets(*values)

    def close_dead_runs(self) -> None:
        """Close what runs that died have left open; those whose lock is held are alive."""
        from stoker.metadata.standings import find_dead  # loads SQLAlchemy

        own = self.scratch_name if self.is_joined else ""
        for execution in find_dead(self.store, self.pipeline.pipeline_name, own):
            self.store.close_execution(execution.id, ExecutionState.FAILED, ENDED_BEFORE)

    @property
    def is_joined(self) -> bool:
        """Whether this is one step of a run that steps join."""
        return self.scratch_name != self.run_id

    def work_on(self, node: Node) -> Work:
        """One step, from its inputs to what it publishes: in a loop, once for each item."""
        rounds, why_not = self.list_rounds(node)
        if not rounds:
            self.skip(node, why_not)
        if len(rounds) > 1 and not self.is_joined:
            self.num_executions += len(rounds) - 1
            self.store.begin_run(
                self.pipeline.pipeline_name,
                self.run_id,
                properties={NUM_STEPS: self.num_executions},
            )
        for self.rounds.now in rounds:
            if self.rounds.is_known(node, self.rounds.now):
                continue
            try:
                yield from self._run_once(node)
            except PlaceError as error:  # a bucket that is not as it should be
                raise StepFailed(f"{node.id}: {error}") from error
        if self.rounds.is_skipped_whole(node, rounds):
            self.rounds.skip_whole(node.id)

    def list_rounds(self, node: Node) -> tuple[list[Round], str]:
        """The rounds of a step, and why there are none if so."""
        try:
            rounds = self.rounds.list_for(node)
        except Absent as absent:
            return [], str(absent)
        if rounds:
            return rounds, ""
        sources = " and ".join(map(repr, node.loops[-1].channels))
        return [], self._find_left_out_asked(node) or f"there is nothing in {sources}"

    def _run_once(self, node: Node) -> Work:
        if why_not := self._find_why_not(node):
            self.skip(node, why_not)
            return
        match node:
            case BaseComponent():
                yield from self._run_component(node)
            case Importer() | Resolver() | ManualNode():
                from stoker.runner.other_nodes import run_other

                run_other(self, node)
            case _:
                raise TypeError(f"Pipeline(components=[…]) takes components, got {node!r}.")

    def _find_why_not(self, node: Node) -> str:
        """Why a step is not to be run: a condition is false, or its inputs were not made."""
        if left_out := self._find_left_out_asked(node):
            return left_out
        try:
            inputs = self._read_inputs(node)
            if false := self._find_false(node, self._gather_facts(node, inputs)):
                return f"condition {false} is false"
        except Absent as absent:
            return str(absent)
        for key, found in inputs.items():
            left_out = self.rounds.find_left_out(node.inputs[key])
            if left_out and not found and isinstance(node, BaseComponent) and node.needs_input(key):
                return f"its input {key!r} comes from {left_out}, which was skipped"
        return ""

    def _find_false(self, node: Node, facts: Facts) -> str:
        """A condition of a step that does not hold, if there is one."""
        try:
            return next((str(one) for one in node.conditions if not one.value_in(facts)), "")
        except (ValueError, TypeError) as error:
            raise StepFailed(f"{node.id}: its condition cannot be evaluated: {error}") from error

    def _find_left_out_asked(self, node: Node) -> str:
        makers = map(self.rounds.find_left_out, node.asked_channels)
        return next((f"{maker} was skipped" for maker in makers if maker), "")

    def skip(self, node: Node, why_not: str) -> None:
        """Record, and say, why a step is not run."""
        self._make_recorder(node).skip(why_not)
        self.rounds.skip(node)
        self._report(node, f"skipped: {why_not}")

    def _report(self, node: Node, text: str) -> None:
        position = "" if self.alone else f"[{len(self.rounds.published)}/{self.num_steps}] "
        self.console.step(f"{position}{node.id}{self.rounds.now.label} {text}")

    def _gather_facts(
        self,
        node: Node,
        inputs: ArtifactMap,
        execution: ExecutionRecorder | None = None,
        working_dir: str = "",
    ) -> Facts:
        """What is known about a step, for its conditions and placeholders."""
        invocation: dict[str, Any] = {
            "pipeline_info": {"id": self.pipeline.pipeline_name},
            "pipeline_node": {"node_info": {"id": node.id, "type": {"name": node.type_name}}},
            "pipeline_run_id": self.run_id,
            "top_level_pipeline_run_id": self.run_id,
            "input_dict": inputs,
        }
        if execution:
            invocation |= {
                "execution_id": execution.id,
                "output_dict": execution.outputs,
                "stateful_working_dir": working_dir,
                "tmp_dir": self._tmp_dir(node),
            }
        return Facts(
            published=self.rounds.find,
            inputs=inputs,
            outputs=execution.outputs if execution else None,
            runtime_info={
                "executor_spec": getattr(node, "executor_spec", None),
                "platform_config": node.platform_config,
                "pipeline_platform_config": self.pipeline.platform_config,
            },
            invocation=invocation,
        )

    def _run_component(self, node: BaseComponent) -> Work:
        inputs = self._get_inputs(node)
        plan = self._complete_plan(node, self._gather_facts(node, inputs))
        if self.trackers:
            self.trackers.note_code(node, plan, self.digest)
        parts: Mapping[str, str] = {}
        is_cached = self._is_cached(node)
        if is_cached or node.RESUMABLE:
            parts = self._collect_parts(node, plan, inputs)
            self.digest.save()
        decision = self._decide(node, parts)
        cached = parts if is_cached else {}
        properties = {
            **mask_secrets(name_places(plan.parameters)),
            "cache_explanation": decision.explanation,
            "cache_parts": dict(cached),
            "cache_key": cache.make_key(cached) if cached else "",
        }
        if isinstance(decision, cache.Hit):
            with self.record(node, inputs, properties, how="cached") as execution:
                execution.reuse(decision.execution_id)
            if node.RESUMABLE:  # a run that was killed right after it had published it leaves them
                discard_dir(*self._find_checkpoints(node, parts))
            return
        cache.keep_code(plan, self.root, self.digest, self.console.secrets)
        with self._hold_checkpoints(node, parts) as checkpoint_dir:
            why = decision.summary
            yield from self._launch(node, plan, inputs, properties, checkpoint_dir, why=why)

    def _complete_plan(self, node: BaseComponent, facts: Facts) -> StepPlan:
        """A step's plan, with the parameters and the file that other steps have made by now."""
        plan = self.plans[node.id]
        waits_for_file = plan.user_file and not plan.code_files
        if not (node.spec.placeholders or waits_for_file):
            return plan
        try:
            parameters = node.spec.values(dict(self.options.parameters), facts)
        except (Absent, TypeError, ValueError) as error:
            raise StepFailed(f"{node.id}: a parameter cannot be filled in: {error}") from error
        self.keep_secret(parameters)
        return replace(plan_step(node, parameters), needs=plan.needs)

    def _decide(self, node: BaseComponent, parts: Mapping[str, str]) -> cache.Hit | cache.Miss:
        if not self._is_cached(node):
            which = "Pipeline" if node.enable_cache is None else type(node).__name__
            return cache.Miss(f"miss: {which}(enable_cache=False)", is_expected=True)
        if node.id in self.options.force:
            return cache.Miss("miss: asked for with --force")
        decision = cache.decide(
            parts,
            self._find_past(node, newest=10, having={"cache_key": cache.make_key(parts)}),
            next(iter(self._find_past(node, newest=1)), None),
            self._given,
        )
        if isinstance(decision, cache.Hit):
            outputs = self.store.outputs(decision.execution_id)
            wrong = find_damage_of_any(list(every(outputs))) or node.find_undone(outputs)
            return cache.Miss(f"miss: {wrong}") if wrong else decision
        return decision

    def _is_cached(self, node: BaseComponent) -> bool:
        """Whether a step may give what it made before: by what it says, else the pipeline."""
        return self.pipeline.enable_cache if node.enable_cache is None else node.enable_cache

    def _find_past(self, node: Node, **wanted: Any) -> list[cache.Past]:
        """Earlier executions of a step that ended well, newest first."""
        executions = self.store.executions(
            pipeline_name=self.pipeline.pipeline_name,
            node_id=node.id,
            states=(ExecutionState.COMPLETE,),
            **wanted,
        )
        return [cache.Past.of(execution) for execution in reversed(executions)]

    @functools.cached_property
    def _given(self) -> Given:
        """What there is to read besides, at the beginning: a step in this process may change it."""
        return Given.to_this_program(self.root, self.digest, self.store.moved_roots)

    @contextlib.contextmanager
    def _hold_checkpoints(self, node: BaseComponent, parts: Mapping[str, str]) -> Iterator[str]:
        """Where a resumable step finds how far an earlier run of the same work was.

        While another run is at the same work, this one starts anew.
        """
        if not node.RESUMABLE:
            yield ""
            return
        same_work, alone = self._find_checkpoints(node, parts)
        with hold_dir(same_work, alone, fresh=self.options.fresh) as checkpoint_dir:
            if not self.root.url or checkpoint_dir == alone:
                self._clear_other_work(node, checkpoint_dir)
                yield checkpoint_dir
                return
            with self._away.keep_checkpoints(checkpoint_dir, fresh=self.options.fresh):
                self._clear_other_work(node, checkpoint_dir)
                yield checkpoint_dir

    def _find_checkpoints(self, node: BaseComponent, parts: Mapping[str, str]) -> tuple[str, str]:
        """The directory of all runs of the same work, and one of this run's own."""
        same_work = self.root.checkpoint_dir(node.id, cache.make_work_key(node, parts))
        return same_work, os.path.join(self._tmp_dir(node), "checkpoints")

    def _clear_other_work(self, node: Node, checkpoint_dir: str) -> None:
        """Remove what an earlier run left that has read something else than this one would."""
        observed = os.path.join(checkpoint_dir, _OBSERVED)
        try:
            changes = self._given.describe_changes(read_journals(observed))
        except (OSError, ValueError, TypeError):
            changes = [f"what it had read is damaged, in {observed}"]
        if changes:
            self.console.step(f"{node.id}: starting from the beginning: {'; '.join(changes)}")
            remove_dir(checkpoint_dir, by_way_of=os.path.join(self._tmp_dir(node), "removed"))
            os.makedirs(checkpoint_dir)

    def _launch(
        self,
        node: BaseComponent,
        plan: StepPlan,
        inputs: ArtifactMap,
        properties: Mapping[str, Any],
        checkpoint_dir: str,
        *,
        why: str,
    ) -> Work:
        self.launcher.prepare(self._list_needs_from(node))
        self._report_process(node, plan.needs)
        with self.record(node, inputs, properties, writes=True, why=why) as execution:
            refuse_damaged_inputs(node, inputs)
            near = self._bring_near(node, inputs, plan)
            facts = self._gather_facts(node, near, execution, checkpoint_dir)
            # The plan itself stays as it is: what waits for the execution is new in each.
            ready = self._complete_plan(node, facts) if node.spec.placeholders else plan
            driven = replace(ready, parameters=_drive(node, ready.parameters, execution.outputs))
            if is_named_by_url(node, driven.parameters):
                driven = replace(driven, parameters=self._away.stage_parameters(node, driven))
            task = self._make_task(node, driven, facts, execution, checkpoint_dir)
            outcome = yield from self._wait_for(task)
            outputs = self._take_outputs(node, task, outcome)
            observed = read_journals(task.observed_dir)
            for check in node.checks:
                task = replace(
                    task,
                    executor=check,
                    outputs=outputs,
                    observed_dir="",
                    needs=plan.needs.in_this_python(),
                    workers=None,
                    retries=None,
                )
                checked = yield from self._wait_for(task)
                outputs = self._take_outputs(node, task, checked)
            edited: Mapping[str, str] = {}
            if before := properties["cache_parts"]:
                after = self._collect_parts(node, plan, inputs)
                edited = self._note_edits(node, before, after, observed)
            self.console.event({"kind": "progress", "doing": "publishing its outputs"})
            execution.publish(outputs, {"observed": observed, **edited})

    def _wait_for(self, task: Task) -> Generator[Task, Launched, Outcome]:
        """What comes of a task. Until then, others have their turns, in their rounds."""
        now = self.rounds.now
        launched = yield task
        self.rounds.now = now
        self.console.turn_to(task.node_id)
        return launched()

    def _bring_near(self, node: BaseComponent, inputs: ArtifactMap, plan: StepPlan) -> ArtifactMap:
        """The inputs as they are on this machine: those that are not are staged."""
        if self.root.url or any(is_remote(artifact.uri) for artifact in every(inputs)):
            return self._away.stage_inputs(node, inputs, plan.parameters)
        return inputs

    @functools.cached_property
    def _away(self) -> "Away":
        """What is not on this machine, as the steps of this run need it."""
        from stoker.runner.away import Away

        elsewhere = bool(getattr(self.launcher, "stages_inputs", False) and self.root.url)
        return Away(self.console, self.root, elsewhere)

    def _note_edits(
        self, node: Node, before: cache.Parts, after: cache.Parts, observed: Notes
    ) -> dict[str, str]:
        """What to record of a step whose code or data changed while it ran: it is never reused."""
        edits = cache.find_edits(before, after, observed, self._given)
        if not edits:
            return {}
        self.console.step(f"{node.id}: later runs will not reuse this: while it ran, {edits}")
        return {"edits_while_running": edits, "cache_key": ""}

    def _take_outputs(self, node: Node, task: Task, outcome: Outcome) -> dict[str, list[Artifact]]:
        """The outputs, with what the executor said about them; raises if it failed."""
        if outcome.canceled:
            raise make_stop(node, outcome.saved_step)
        if outcome.failure:
            advice = self._advise_after_failure()
            raise tell_failure(outcome.failure, node, task.log_file, self.console, advice)
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

    def _advise_after_failure(self) -> str:
        if self.alone:
            return ""  # a notebook runs its cell again
        again = "Correct it and run the same command again"
        if self.pipeline.enable_cache:
            return f"{again}: the steps before it are cached."
        return f"{again}. With Pipeline(enable_cache=True), the steps before it are cached."

    def _collect_parts(
        self, node: BaseComponent, plan: StepPlan, inputs: ArtifactMap
    ) -> dict[str, str]:
        flags = node.beam_pipeline_args or self.pipeline.beam_pipeline_args
        if flags:
            flags = substitute(flags, self.options.parameters)
        return cache.collect_parts(node, plan, inputs, self.digest, beam_flags=flags)

    def _make_task(
        self,
        node: BaseComponent,
        plan: StepPlan,
        facts: Facts,
        execution: ExecutionRecorder,
        checkpoint_dir: str,
    ) -> Task:
        beam_pipeline_args = node.beam_pipeline_args or self.pipeline.beam_pipeline_args
        if beam_pipeline_args and placeholders_in(beam_pipeline_args):
            known = replace(facts, parameters=node.spec.decode(plan.parameters))
            beam_pipeline_args = fill_in(beam_pipeline_args, known)
        return Task(
            pipeline_name=self.pipeline.pipeline_name,
            run_id=self.run_id,
            node_id=node.id,
            execution_id=execution.id,
            executor=node.executor_spec.class_path,
            user_file=plan.user_file,
            inputs=facts.inputs,
            outputs=execution.outputs,
            parameters=plan.parameters,
            artifact_classes=plan.artifact_classes,
            message_classes=node.spec.message_classes,
            root_dir=self.root.path,
            tmp_dir=self._tmp_dir(node),
            temporary_dir=self.temporary_dir,
            checkpoint_dir=checkpoint_dir,
            columns_dir=self.root.columns_dir,
            log_file=self._choose_log_file(node, execution),
            beam_pipeline_args=tuple(beam_pipeline_args),
            import_paths=plan.import_paths,
            observed_dir=self._choose_observed_dir(node, plan, checkpoint_dir),
            given=self._given.values,
            not_users=tuple(self._given.not_users),
            argv=tuple(sys.argv),
            flags=flags_of_this_program(),
            needs=plan.needs,
            workers=node.workers,
            retries=0 if node.retries and self.options.leaves_retries else node.retries,
            timeout_seconds=node.timeout_seconds,
            away=self._away.describe() if self.root.url else None,
        )

    def _choose_observed_dir(self, node: BaseComponent, plan: StepPlan, checkpoint_dir: str) -> str:
        """Where a worker notes what the user's code reads: with the checkpoints, if it has any."""
        is_ours = node.executor_spec.class_path.startswith("stoker.") and not plan.user_file
        return "" if is_ours else os.path.join(checkpoint_dir or self._tmp_dir(node), _OBSERVED)

    def _tmp_dir(self, node: Node) -> str:
        name = "-".join((node.id, *map(str, self.rounds.now.place)))
        return os.path.join(self.root.tmp_dir(self.scratch_name), name)

    def _report_process(self, node: Node, needs: ProcessNeeds) -> None:
        if needs.python:
            self.console.step(f"{node.id}: {needs.reason}")
        elif needs.keras and needs.reason:
            self.console.step(f"{node.id}: Keras {needs.keras}, because {needs.reason}")

    def _list_needs_from(self, node: Node) -> list[ProcessNeeds]:
        """What this step and those after it need."""
        if self.is_joined:
            return [self.plans[node.id].needs]
        node_ids = list(self.plans)
        return [self.plans[one].needs for one in node_ids[node_ids.index(node.id) :]]

    def _choose_log_file(self, node: BaseComponent, execution: ExecutionRecorder) -> str:
        """A log belongs to the output that keeps it; others are with the runner's own files."""
        if outputs := execution.outputs.get(node.LOG_OUTPUT or ""):
            return os.path.join(outputs[0].uri, "log.txt")
        return self.root.log_file(node.id, execution.id)

    def _get_inputs(self, node: BaseComponent) -> dict[str, list[Artifact]]:
        """What the steps before have published for each input."""
        inputs = self._read_inputs(node)
        for key, found in inputs.items():
            if not found and node.needs_input(key):
                channel = node.inputs[key]
                raise StepFailed(
                    f"{node.id} needs {channel.type_name} for {key!r}, and there is none: "
                    f"{channel!r} is empty."
                    " Run the step that makes it first."
                )
        return inputs

    def _read_inputs(self, node: Node) -> dict[str, list[Artifact]]:
        """What is there for each input; a Resolver looks for its own."""
        channels = node.inputs if isinstance(node, BaseComponent) else {}
        try:
            return {key: channel.read(self.rounds.find) for key, channel in channels.items()}
        except (ValueError, TypeError) as error:
            raise StepFailed(f"{node.id}: its inputs cannot be chosen: {error}") from error

    def _find_elsewhere(self, channel: Channel) -> list[Artifact]:
        """What a channel holds that no step of this run fills: what it was given, or the store."""
        given = [copy_from_outside(artifact) for artifact in channel.get()]
        return given or self.find_in_store(channel)

    def find_in_store(self, channel: Channel, *, across_pipelines: bool = False) -> list[Artifact]:
        """What runs have published for a channel, oldest first."""
        pipeline_name = channel.pipeline_name or self.pipeline.pipeline_name
        return self.store.artifacts(
            type_name=channel.type_name,
            pipeline_name=None if across_pipelines else pipeline_name,
            run_id=channel.pipeline_run_id or None,
            node_id=None if across_pipelines else channel.producer_component_id,
            output_key=channel.output_key,
        )

    def _make_recorder(self, node: Node) -> ExecutionRecorder:
        return ExecutionRecorder(
            store=self.store,
            root=self.root,
            pipeline_name=self.pipeline.pipeline_name,
            run_id=self.run_id,
            node=node,
            secrets=self.console.secrets,
            trackers=self.trackers,
            own_properties=self.rounds.now.properties,
        )

    @contextlib.contextmanager
    def record(
        self,
        node: Node,
        inputs: ArtifactMap,
        properties: Mapping[str, Any],
        *,
        writes: bool = False,
        how: str = "done",
        why: str = "",
    ) -> Iterator[ExecutionRecorder]:
        """Record an execution before it runs, and close it however it ends."""
        started = time.monotonic()
        execution = self._make_recorder(node)
        execution.begin(inputs, properties, writes=writes)
        with execution.close_on_failure():
            yield execution
        self.rounds.publish(node, execution.outputs)
        took = f"{how} in {time.monotonic() - started:.2f} s"
        self._report(node, f"{took}, because {why}" if why else took)


def _drive(
    node: BaseComponent, parameters: Mapping[str, Any], outputs: ArtifactMap
) -> Mapping[str, Any]:
    """The parameters as the executor is given them; a driver may have found more of them."""
    try:
        return node.DRIVER_CLASS.drive(parameters, outputs)
    except (BadData, ValueError) as error:
        raise StepFailed(f"{node.id} failed: {type(error).__name__}: {error}") from error
