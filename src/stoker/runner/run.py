# SPDX-License-Identifier: Apache-2.0
"""One run: checked, recorded and locked before its first step, and closed however it ends."""

import contextlib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stoker.any_python.streams import open_missing_streams
from stoker.any_python.url_files import PlaceError
from stoker.dsl.component import Node
from stoker.dsl.parameters import substitute
from stoker.dsl.pipeline import Pipeline
from stoker.dsl.placeholders import Facts, fill_in
from stoker.dsl.places import check_places
from stoker.errors import BadPipeline, StokerError
from stoker.launchers import Launcher
from stoker.metadata.config import STORE_VARIABLE, StoreConfig, find_store_variable
from stoker.metadata.masking import environment, mask_secrets
from stoker.metadata.records import (
    DAG,
    NUM_STEPS,
    PARAMETERS,
    ROOT,
    RUN_STATE,
    STORE_FILE,
    RunEnd,
)
from stoker.runner.before_work import BeforeWork
from stoker.runner.console import Console
from stoker.runner.plan import RunOptions, StepPlan, plan_steps
from stoker.runner.recorder import FEW_SECONDS, add_note_if_unrecorded
from stoker.runner.steps import Steps
from stoker.runner.tracking import find_trackers
from stoker.storage.digests import FileDigests
from stoker.storage.locks import hold_run_lock, hold_step_lock
from stoker.storage.places import look_once
from stoker.storage.root import Root, name_report, name_step
from stoker.storage.scratch import hold_scratch
from stoker.views.table import readable_path

if TYPE_CHECKING:
    from stoker.metadata.store import Store

_PATIENCE_SECONDS = 24 * 3600
"""How long a run waits for a store that does not answer: what a step has made may be worth days."""


@contextlib.contextmanager
def begin_run(
    pipeline: Pipeline,
    options: RunOptions,
    launcher: Launcher,
    console: Console,
    *,
    alone: Node | None = None,
    joins: str = "",
) -> Iterator[Steps]:
    """A run that is recorded and holds its lock, for its steps to be run inside.

    Where a step is to run `alone`, those before it have had runs of their own; or it `joins` the
    run with this id, of which it may be the first.
    """
    open_missing_streams()
    if options.report:
        _require_templates()
    given = dict(options.parameters)
    chosen = options.choice.run if options.choice else pipeline.steps
    steps_to_run = [step for step in pipeline.steps if step in chosen]
    check_places(pipeline.pipeline_root, steps_to_run, given)
    root = Root.at(fill_in(substitute(pipeline.pipeline_root, given), Facts()))
    _check_writable(root, pipeline)
    plans = _plan(pipeline, steps_to_run, given, launcher, console, alone=alone)
    config = _choose_store(pipeline, root, console, alone=alone is not None and not joins)
    if not (joins or (pipeline.enable_cache and config.exists())):
        # First of all, since importing TensorFlow takes longer than all that comes before it.
        launcher.prepare(dict.fromkeys(plan.needs for plan in plans.values()))
    from stoker.metadata.store import Store  # SQLAlchemy is not for those who only declare

    with (
        Store(config) as store,
        _hold_name(root, pipeline.pipeline_name, store, console, alone, joins) as name,
        hold_scratch(root, name.scratch) as temporary_dir,
    ):
        digest = FileDigests(root.digests_file)
        if digest.set_aside:
            console.step(f"{root.digests_file} is damaged, and was renamed to {digest.set_aside}")
        steps = Steps(
            pipeline=pipeline,
            options=options,
            root=root,
            run_id=name.run_id,
            scratch_name=name.scratch,
            waited_after=name.waited_after,
            temporary_dir=temporary_dir,
            store=store,
            launcher=launcher,
            console=console,
            plans=plans,
            digest=digest,
            alone=alone is not None,
            num_steps=1 if alone and not joins else options.count_steps(pipeline),
        )
        store.be_patient(_PATIENCE_SECONDS, console.step)
        parameters = [plan.parameters for plan in plans.values()]
        steps.keep_secret({"password": config.password})
        steps.keep_secret(environment(), sys.argv, given, parameters, pipeline.beam_pipeline_args)
        steps.close_dead_runs()
        _record_begin(steps, config.place, [alone] if alone and not joins else steps_to_run)
        with _report_end(steps) if options.report else contextlib.nullcontext(), _record_end(steps):
            yield steps


def _plan(
    pipeline: Pipeline,
    steps: Sequence[Node],
    given: dict[str, Any],
    launcher: Launcher,
    console: Console,
    *,
    alone: Node | None,
) -> dict[str, StepPlan]:
    """How each step is to run. What can be said against them is said now, before any work."""
    try:
        with look_once():
            plans, problems = plan_steps(steps, given)
            check = BeforeWork(
                plans=plans,
                given=given,
                launcher=launcher,
                beam_pipeline_args=pipeline.beam_pipeline_args,
            )
            for doubt in check.check([step for step in steps if alone in (None, step)], problems):
                console.step(doubt)
    except PlaceError as error:
        raise BadPipeline(str(error)) from error
    return plans


def _choose_store(pipeline: Pipeline, root: Root, console: Console, *, alone: bool) -> StoreConfig:
    """The store that the environment names, else the pipeline's own; a notebook has chosen."""
    declared = pipeline.store_config(root.path)
    named = None if alone else find_store_variable()
    if named and named != declared and pipeline.declares_store:
        console.step(f"Records go to {named.place}, as {STORE_VARIABLE} says")
    config = named or declared
    config.require_driver()
    _require_own_store(root, config)
    return config


def _record_begin(steps: Steps, store_file: str, drawn: Iterable[Node]) -> None:
    name, root = steps.pipeline.pipeline_name, steps.root
    if steps.is_joined:
        _check_joined(steps)
    steps.store.begin_run(
        name,
        steps.run_id,
        properties={
            "lock_file": root.run_lock(steps.run_id),
            ROOT: root.place,
            STORE_FILE: store_file,
            NUM_STEPS: steps.num_executions,
            DAG: _draw_dag(drawn),
            **(
                {PARAMETERS: _list_parameters(steps)} if steps.is_joined else {RUN_STATE: "running"}
            ),
        },
    )
    if steps.is_joined:
        _settle(steps, again=steps.scratch_name.partition("@")[2])
    steps.console.progress_file = root.progress_file(steps.scratch_name)
    # Not before: who is told that a run began is told how it ended.
    steps.trackers = find_trackers(steps.console, steps.temporary_dir)
    if steps.trackers:
        facts = {"pipeline": name, "run": steps.run_id, "root": root.place, "source": sys.argv[0]}
        steps.trackers.note("run_began", **facts, joined=steps.is_joined)


def _settle(steps: Steps, again: str = "") -> None:
    """Record where a run stands that steps join: nobody but its steps could."""
    choice = steps.options.choice
    wanted = [*choice.run, *choice.reuse] if choice else steps.pipeline.steps
    name, node_ids = steps.pipeline.pipeline_name, [node.id for node in wanted]
    steps.store.settle_run(name, steps.run_id, node_ids, again=again)


def _check_joined(steps: Steps) -> None:
    """Refuse to join a run that another program runs as a whole, or with other parameters."""
    from stoker.metadata.standings import is_whole_alive  # loads SQLAlchemy

    run = steps.store.run(steps.run_id)
    if run is None:
        return
    if is_whole_alive(run):
        raise StokerError(
            f"Run {steps.run_id} is being run as a whole. Wait until it ends, or give the step "
            "another --run-id."
        )
    asked, known = _list_parameters(steps), run.properties.get(PARAMETERS)
    if known not in (None, asked):
        raise StokerError(
            f"Run {steps.run_id} was begun with the parameters {known}, and this step is given "
            f"{asked}. Give every step of a run the same --param, or this one another --run-id."
        )


def _list_parameters(steps: Steps) -> str:
    given = {name: str(value) for name, value in steps.options.parameters.items()}
    return json.dumps(mask_secrets(given), sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _HeldName:
    """What a run or a step holds the lock of."""

    run_id: str
    scratch: str
    waited_after: int | None = None


@contextlib.contextmanager
def _hold_name(
    root: Root,
    pipeline_name: str,
    store: "Store",
    console: Console,
    alone: Node | None,
    joins: str,
) -> Iterator[_HeldName]:
    """Hold the lock of a new run, or of the step that joins one."""
    if not (alone and joins):
        with hold_run_lock(root) as run_id, store.hold_run(run_id):
            yield _HeldName(run_id=run_id, scratch=run_id)
        return
    node_id, waits = alone.id, list[bool]()
    known = store.executions(pipeline_name=pipeline_name, run_id=joins, node_id=node_id, only=())
    # Read before the lock is asked for: who waits may find the other one failed at any moment.
    ended = max((one.id for one in known if one.standing != "running"), default=0)

    def before_waiting() -> None:
        if not waits:
            waits.append(True)
            console.step(
                f"{node_id} is being run in run {joins} by another process: waiting for it"
            )

    scratch = name_step(joins, node_id)
    with (
        hold_step_lock(root, joins, node_id, before_waiting),
        store.hold_run(scratch, before_waiting),
    ):
        yield _HeldName(run_id=joins, scratch=scratch, waited_after=ended if waits else None)


def _require_own_store(root: Root, config: StoreConfig) -> None:
    """A folder of caches is no place for records."""
    if root.url and config.is_file and config.path.startswith(os.path.join(root.path, "")):
        raise BadPipeline(
            f"A pipeline whose root is {root.url} needs a store that lies elsewhere: "
            "STOKER_STORE=metadata.db, `stoker run --store metadata.db`, or Pipeline("
            "metadata_connection_config=sqlite_metadata_connection_config('metadata.db'))."
        )


def _require_templates() -> None:
    """Tell before the run what a report at its end would lack."""
    from stoker.views.pages.rendering import render

    render("message.html", base=None, style="", title="", text="", again=False)


@contextlib.contextmanager
def _report_end(steps: Steps) -> Iterator[None]:
    """Write a page about a run when it has ended, however it did; a page is no reason to fail."""
    from stoker.views.pages.report import write_report
    from stoker.views.pages.run_reading import read_run

    try:
        yield
    finally:
        path = os.path.join(steps.root.path, name_report(steps.run_id))
        try:
            if run := read_run(steps.store, steps.run_id):
                steps.console.step(f"Report: {readable_path(write_report(run, path))}")
        except (OSError, ValueError, StokerError) as error:
            steps.console.step(f"The report {readable_path(path)} could not be written: {error}")


def _draw_dag(steps: Iterable[Node]) -> str:
    """What the steps are, and which outputs of which others they read, as JSON."""
    dag = [
        {
            "id": step.id,
            "type": type(step).__name__,
            "reads": [
                {"from": part.producer.id, "key": part.output_key or "", "as": key}
                for key, channel in step.inputs.items()
                for part in channel.parts
                if part.producer
            ],
            "after": [node.id for node in step.upstream_nodes],
        }
        for step in steps
    ]
    return json.dumps(dag)


@contextlib.contextmanager
def _record_end(steps: Steps) -> Iterator[None]:
    """Record how a run ends; the store goes on calling one that is killed `running`."""
    try:
        yield
    except BaseException as error:
        end: RunEnd = "canceled" if isinstance(error, KeyboardInterrupt) else "failed"
        steps.store.be_patient(FEW_SECONDS)
        with add_note_if_unrecorded(error):
            _end(steps, end)
        raise
    _end(steps, "complete")


def _end(steps: Steps, end: RunEnd) -> None:
    """Record how a run ended; one that steps join ends with the last of them."""
    name, run_id = steps.pipeline.pipeline_name, steps.run_id
    if steps.is_joined:
        _settle(steps)
    else:
        steps.store.end_run(name, run_id, end)
    if steps.trackers:
        steps.trackers.note("run_ended", state=end)


def _check_writable(root: Root, pipeline: Pipeline) -> None:
    for folder in root.list_shared_dirs([node.id for node in pipeline.steps]):
        if os.stat(folder).st_uid != os.geteuid() and not os.access(folder, os.W_OK | os.X_OK):
            raise StokerError(
                f"Cannot write to {folder}, which is another user's. To share the pipeline root, "
                f"let them say: chmod -R g+rwX {shlex.quote(root.path)}, and umask 002 before they "
                "run a pipeline."
            )
    try:
        os.makedirs(root.own_dir, exist_ok=True)
        with tempfile.TemporaryFile(dir=root.own_dir) as file:
            file.write(bytes(1 << 18))  # a store that finds no room says less clearly why
    except OSError as error:
        raise StokerError(
            f"Cannot write to the pipeline root {root.path}: {error.strerror}. Choose another "
            "pipeline_root, or make room and give yourself the right to write there."
        ) from error
