# SPDX-License-Identifier: Apache-2.0
"""LocalDagRunner: runs a pipeline on this machine.

What is done for a step is in `steps.py`, and which of them run when in `side_by_side.py`.
"""

import contextlib
import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from stoker.any_python.forking import raise_on_sigterm
from stoker.any_python.lines import did_you_mean
from stoker.any_python.modules import stop_loading_here
from stoker.artifacts import ArtifactMap
from stoker.components.manual_node import ManualNode
from stoker.dsl.component import BaseComponent, Node
from stoker.dsl.parameters import names_in
from stoker.dsl.partial_run import PartialRun
from stoker.dsl.pipeline import Pipeline, in_order
from stoker.dsl.user_code import UserCodeComponent
from stoker.launchers import Launcher
from stoker.launchers.processes import Processes
from stoker.metadata.records import Execution
from stoker.runner.console import Console
from stoker.runner.earlier import find_earlier
from stoker.runner.endings import end_briefly, make_stop
from stoker.runner.other_nodes import reuse
from stoker.runner.plan import RunOptions
from stoker.runner.run import begin_run
from stoker.runner.side_by_side import Room, choose_num_steps, finish, run_steps
from stoker.runner.steps import Steps, Work
from stoker.user_code.imports import scan
from stoker.user_code.shared_files import FilesOfCode, find_files_of_code
from stoker.views.table import readable_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that ended well: where it kept its files, and what every step published."""

    id: str
    pipeline_name: str
    pipeline_root: str
    outputs: Mapping[str, ArtifactMap]


class LocalDagRunner:
    """Runs a pipeline on this machine."""

    def __init__(
        self,
        launcher: Launcher | None = None,
        config: Any = None,  # noqa: ARG002
        *,
        report: bool = False,
        parallel: int | None = None,
        profile: bool = False,
    ) -> None:
        """Make a runner, for any number of runs.

        Args:
            launcher: Where steps run; by default in processes of this machine.
            config: Accepted for TFX's pipelines; it configures platforms of TFX's own.
            report: Whether each run leaves a page about itself in its root, also if it fails.
            parallel: How many steps may run at the same time, where none needs another; by default
                as many as there are processors. 1 keeps to the pipeline's order.
            profile: Whether a run says at its end where the time went.
        """
        self._launcher = launcher
        self._report, self._profile = report, profile
        self._parallel = None if parallel is None else Room(num_steps=parallel).num_steps

    def run(
        self,
        pipeline: Pipeline,
        parameters: Mapping[str, Any] | PartialRun | None = None,
        *,
        force: Collection[str] = (),
        fresh: bool = False,
        done: Collection[str] = (),
        run_options: PartialRun | None = None,
        **_: Any,
    ) -> Run:
        """Run every step of a pipeline.

        `parameters` are the values of its RuntimeParameters; the steps in `force` run even if
        nothing changed. With `fresh`, trainings and searches start from the beginning, whatever
        a run that was stopped has left. `done` are the ManualNodes whose work a person has done.
        With `run_options`, which may be the second argument as in TFX, some of the steps are run.
        """
        stop_loading_here()
        if not isinstance(pipeline, Pipeline):
            raise TypeError(f"{type(self).__name__}().run takes a Pipeline, got {pipeline!r}.")
        if _interception.declared is not None:
            _interception.declared.append(pipeline)
            return Run(id="", pipeline_name=pipeline.pipeline_name, pipeline_root="", outputs={})
        if isinstance(parameters, PartialRun):
            parameters, run_options = None, parameters
        asked = _interception.one_step
        if asked and not asked.is_meant(pipeline):
            return Run(id="", pipeline_name=pipeline.pipeline_name, pipeline_root="", outputs={})
        partial = run_options or pipeline.run_options
        added = _interception.options
        options = RunOptions(
            parameters={**(parameters or {}), **added.parameters},
            force={*force, *added.force},
            fresh=fresh or added.fresh,
            done={*done, *added.done},
            choice=partial.choose(pipeline.steps) if partial else None,
            report=self._report or added.report,
            leaves_retries=added.leaves_retries,
            parallel=added.parallel or self._parallel,
            profile=added.profile or self._profile,
        )
        launcher = _interception.launcher or self._launcher or Processes()
        with end_briefly(), raise_on_sigterm():
            if asked:
                _run_asked(asked, pipeline, options, launcher)
            run = _run(pipeline, options, launcher)
        _interception.runs.append(run)
        return run


class BeamDagRunner(LocalDagRunner):
    """Runs a pipeline on this machine, as the runner of TFX's first years did."""

    def __init__(self, beam_orchestrator_args: Any = None, config: Any = None) -> None:  # noqa: ARG002
        """Both are accepted for TFX's pipelines: they say how Beam should start the steps."""
        super().__init__()


@dataclass(kw_only=True)
class _Interception:
    """What `stoker run` adds to the runs that a pipeline file starts, and their results."""

    options: RunOptions = field(default_factory=RunOptions)
    launcher: Launcher | None = None
    runs: list[Run] = field(default_factory=list)
    declared: list[Pipeline] | None = None
    """Where pipelines go that are not to be run."""
    one_step: "OneStep | None" = None
    """The only step that is to be run."""


_NONE = _Interception()
_interception = _NONE
"""State of the whole process: the user's file calls `LocalDagRunner().run(pipeline)` itself, so
that there is no argument by which the command line could reach that run."""


@contextlib.contextmanager
def intercept(options: RunOptions, launcher: Launcher | None = None) -> Iterator[list[Run]]:
    """Take over the runs that are started inside: add to them, and keep their results."""
    with _replace_interception(_Interception(options=options, launcher=launcher)) as inside:
        yield inside.runs


@dataclass(kw_only=True)
class OneStep:
    """One step that is asked for by its name, of a run that other processes run the rest of."""

    node_id: str
    run_id: str
    pipeline_name: str | None = None
    seen: list[Pipeline] = field(default_factory=list)
    """The pipelines that were to be run."""
    end: Literal["done", "skipped"] | None = None

    def is_meant(self, pipeline: Pipeline) -> bool:
        """Whether a pipeline is the one that has the step."""
        self.seen.append(pipeline)
        if self.pipeline_name not in (None, pipeline.pipeline_name):
            return False
        return self.end is None and any(step.id == self.node_id for step in pipeline.steps)


class StepEnded(BaseException):
    """Ends a pipeline file where it started its run: what it does afterwards is for whole runs."""


@contextlib.contextmanager
def intercept_for_step(
    asked: OneStep, options: RunOptions, launcher: Launcher | None = None
) -> Iterator[None]:
    """Run one step of the run that is started inside, and end the file there by StepEnded."""
    inside = _Interception(options=options, launcher=launcher, one_step=asked)
    with _replace_interception(inside):
        yield


def _run_asked(
    asked: OneStep, pipeline: Pipeline, options: RunOptions, launcher: Launcher
) -> NoReturn:
    from stoker.runner.one_step import join_run  # whole runs do without it

    _check_names(pipeline, options)
    (node,) = [step for step in pipeline.steps if step.id == asked.node_id]
    with (
        contextlib.closing(launcher),
        contextlib.closing(Console()) as console,
        begin_run(pipeline, options, launcher, console, alone=node, joins=asked.run_id) as steps,
    ):
        run = functools.partial(finish, _work_on(steps, node, {}), launcher, console)
        asked.end = join_run(steps, node, run)
    raise StepEnded(asked.end)


@contextlib.contextmanager
def collect_pipelines() -> Iterator[list[Pipeline]]:
    """Take the pipelines that are to be run inside, and run none of them."""
    declared: list[Pipeline] = []
    with _replace_interception(_Interception(declared=declared)):
        yield declared


@contextlib.contextmanager
def _replace_interception(inside: _Interception) -> Iterator[_Interception]:
    global _interception
    outer, _interception = _interception, inside
    try:
        yield inside
    finally:
        _interception = outer


def is_started_by_command() -> bool:
    """Whether a command, such as `stoker run`, executes the file that asks."""
    return _interception is not _NONE


def run_step(
    pipeline: Pipeline,
    node: Node,
    *,
    before: Mapping[str, ArtifactMap],
    skipped: Collection[str],
    fresh: bool,
    launcher: Launcher,
    console: Console,
) -> tuple[Execution, ArtifactMap]:
    """Run one step of a pipeline, as a notebook does: its execution, and what it has published.

    `before` is what the steps that it reads from have published, in runs of their own; `skipped`
    are those of them that a condition has left out.
    """
    stop_loading_here()
    with (
        raise_on_sigterm(),
        contextlib.closing(launcher),
        contextlib.closing(console),
        begin_run(pipeline, RunOptions(fresh=fresh), launcher, console, alone=node) as steps,
    ):
        steps.rounds.published.update(before)
        for node_id in skipped:
            steps.rounds.skip_whole(node_id)
        with _show(steps, node):
            finish(steps.work_on(node), launcher, console)
        *_, execution = steps.store.executions(run_id=steps.run_id)
    return execution, steps.rounds.published[node.id]


def _run(pipeline: Pipeline, options: RunOptions, launcher: Launcher) -> Run:
    _check_names(pipeline, options)
    console = Console()
    with _profile(console, options), contextlib.closing(launcher), contextlib.closing(console):
        with begin_run(pipeline, options, launcher, console) as steps:
            choice, name = options.choice, pipeline.pipeline_name
            earlier = find_earlier(choice, steps.store, name) if choice else {}
            nodes = [
                node
                for node in pipeline.steps
                if node in earlier or not choice or node in choice.run
            ]
            work = [(node, _work_on(steps, node, earlier)) for node in nodes]
            num_steps = choose_num_steps(options.parallel, launcher, console)
            files = _find_files(nodes, steps) if num_steps > 1 else {}
            run_steps(work, launcher, console, num_steps, files)
            published = steps.rounds.published
            outputs = {node.id: published[node.id] for node in nodes if node.id in published}
        console.step(f"Run {steps.run_id} of {pipeline.pipeline_name!r} is done. Its outputs:")
        for line in _list_outputs(outputs):
            console.step(f"  {line}")
    return Run(
        id=steps.run_id,
        pipeline_name=pipeline.pipeline_name,
        pipeline_root=steps.root.path,
        outputs=outputs,
    )


def _find_files(nodes: Sequence[Node], steps: Steps) -> dict[Node, FilesOfCode]:
    """The files that the code of each step names, by which steps may depend on each other."""
    found: dict[Node, FilesOfCode] = {}
    for node in nodes:
        plan = steps.plans.get(node.id)
        if isinstance(node, BaseComponent) and plan and plan.user_file:
            own = (type(node).__name__, node.executor_spec.class_path.rpartition(":")[2])
            functions = node.FUNCTIONS if isinstance(node, UserCodeComponent) else own
            trees = scan(plan.user_file, plan.import_paths).trees
            found[node] = find_files_of_code(trees.values(), functions)
    return found


def _profile(console: Console, options: RunOptions) -> contextlib.AbstractContextManager[None]:
    """Tell at the end where the time went, if that is asked."""
    if not options.profile:
        return contextlib.nullcontext()
    from stoker.runner.timeline import Timeline, tell_times

    console.timeline = Timeline()
    return tell_times(console.timeline, console.step)


def _work_on(steps: Steps, node: Node, earlier: Mapping[Node, Sequence[Execution]]) -> Work:
    """A step that is shown while it runs, or what `earlier` runs have made of it."""
    try:
        if node in earlier:
            reuse(steps, node, earlier[node])
            return
        with _show(steps, node):
            yield from steps.work_on(node)
    except KeyboardInterrupt as stop:
        raise (stop if stop.args else make_stop(node)) from None


def _show(steps: Steps, node: Node) -> contextlib.AbstractContextManager[None]:
    """Show a step while it runs, unless it is a person at this terminal who does it."""
    if isinstance(node, ManualNode):
        return contextlib.nullcontext()
    shares_terminal = getattr(steps.launcher, "SHARES_TERMINAL", False)
    return steps.console.show_step(node.id, live=not shares_terminal)


def _list_outputs(published: Mapping[str, ArtifactMap]) -> Iterator[str]:
    for node_id, outputs in published.items():
        for key, artifacts in outputs.items():
            for artifact in artifacts:
                yield f"{node_id}.{key}: {readable_path(artifact.uri)}"


def _check_names(pipeline: Pipeline, options: RunOptions) -> None:
    in_order(
        pipeline.components
    )  # refuses one that is part of another, and was not given its inputs
    values = [pipeline.pipeline_root, *(node.exec_properties for node in pipeline.steps)]
    known = set().union(*map(names_in, values))
    if unknown := sorted(set(options.parameters) - known):
        raise ValueError(
            f"The pipeline {pipeline.pipeline_name!r} has no runtime parameter {unknown[0]!r}; "
            f"it has {', '.join(sorted(known)) or 'none'}.{did_you_mean(unknown[0], known)}"
        )
    nodes = [node.id for node in pipeline.steps]
    for asked, what in ((options.force, "to force"), (options.done, "to be done")):
        if unknown := sorted(set(asked) - set(nodes)):
            raise ValueError(
                f"The pipeline {pipeline.pipeline_name!r} has no step {unknown[0]!r} {what}; "
                f"it has {', '.join(nodes)}.{did_you_mean(unknown[0], nodes)}"
            )
