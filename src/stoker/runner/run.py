# SPDX-License-Identifier: Apache-2.0
"""One run: checked, recorded and locked before its first step, and closed however it ends."""

import contextlib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator

from stoker.any_python.streams import open_missing_streams
from stoker.dsl.component import Node
from stoker.dsl.parameters import substitute
from stoker.dsl.pipeline import Pipeline
from stoker.dsl.placeholders import Facts, fill_in
from stoker.dsl.places import check_places
from stoker.errors import StokerError
from stoker.launchers import Launcher
from stoker.metadata.masking import environment
from stoker.metadata.records import DAG, NUM_STEPS, ROOT, RUN_STATE, STORE_FILE, RunEnd
from stoker.runner.before_work import BeforeWork
from stoker.runner.console import Console
from stoker.runner.plan import RunOptions, plan_steps
from stoker.runner.recorder import add_note_if_unrecorded
from stoker.runner.steps import Steps
from stoker.runner.tracking import find_trackers
from stoker.storage.digests import FileDigests
from stoker.storage.locks import hold_run_lock
from stoker.storage.root import Root, name_report
from stoker.storage.scratch import hold_scratch
from stoker.views.table import readable_path


@contextlib.contextmanager
def begin_run(
    pipeline: Pipeline,
    options: RunOptions,
    launcher: Launcher,
    console: Console,
    *,
    alone: Node | None = None,
) -> Iterator[Steps]:
    """A run that is recorded and holds its lock, for its steps to be run inside.

    Where a step is to run `alone`, those before it have had runs of their own.
    """
    open_missing_streams()
    if options.report:
        _require_templates()
    given = dict(options.parameters)
    chosen = options.choice.run if options.choice else pipeline.steps
    steps_to_run = [step for step in pipeline.steps if step in chosen]
    check_places(pipeline.pipeline_root, steps_to_run, given)
    root = Root(os.path.abspath(fill_in(substitute(pipeline.pipeline_root, given), Facts())))
    _check_writable(root, pipeline)
    plans, problems = plan_steps(steps_to_run, given)
    check = BeforeWork(plans=plans, given=given, launcher=launcher)
    for doubt in check.check([alone] if alone else steps_to_run, problems):
        console.step(doubt)
    config = pipeline.store_config(root.path)
    if not (pipeline.enable_cache and config.exists()):
        # First of all, since importing TensorFlow takes longer than all that comes before it.
        launcher.prepare(dict.fromkeys(plan.needs for plan in plans.values()))
    from stoker.metadata.store import Store  # SQLAlchemy is not for those who only declare

    with (
        Store(config) as store,
        hold_run_lock(root) as run_id,
        hold_scratch(root, run_id) as temporary_dir,
    ):
        digest = FileDigests(root.digests_file)
        if digest.set_aside:
            console.step(f"{root.digests_file} is damaged, and was renamed to {digest.set_aside}")
        steps = Steps(
            pipeline=pipeline,
            options=options,
            root=root,
            run_id=run_id,
            temporary_dir=temporary_dir,
            store=store,
            launcher=launcher,
            console=console,
            plans=plans,
            digest=digest,
            alone=alone is not None,
            num_steps=1 if alone else options.count_steps(pipeline),
        )
        parameters = [plan.parameters for plan in plans.values()]
        steps.keep_secret(environment(), sys.argv, given, parameters, pipeline.beam_pipeline_args)
        steps.close_dead_runs()
        store.begin_run(
            pipeline.pipeline_name,
            run_id,
            properties={
                "lock_file": root.run_lock(run_id),
                ROOT: root.path,
                STORE_FILE: config.path,
                NUM_STEPS: steps.num_executions,
                DAG: _draw_dag(steps_to_run if alone is None else [alone]),
                RUN_STATE: "running",
            },
        )
        console.progress_file = root.progress_file(run_id)
        # Not before: who is told that a run began is told how it ended.
        steps.trackers = find_trackers(console, temporary_dir)
        if steps.trackers:
            steps.trackers.note(
                "run_began",
                pipeline=pipeline.pipeline_name,
                run=run_id,
                root=root.path,
                source=sys.argv[0],
            )
        with _report_end(steps) if options.report else contextlib.nullcontext(), _record_end(steps):
            yield steps


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
    name, run_id = steps.pipeline.pipeline_name, steps.run_id
    try:
        yield
    except BaseException as error:
        end: RunEnd = "canceled" if isinstance(error, KeyboardInterrupt) else "failed"
        with add_note_if_unrecorded(error):
            steps.store.end_run(name, run_id, end)
        if steps.trackers:
            steps.trackers.note("run_ended", state=end)
        raise
    steps.store.end_run(name, run_id, "complete")
    if steps.trackers:
        steps.trackers.note("run_ended", state="complete")


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
