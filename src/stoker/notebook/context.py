# SPDX-License-Identifier: Apache-2.0
"""InteractiveContext: components run one at a time, each when its cell is, and shown."""

import contextlib
import os
import sys
import tempfile
import weakref
from typing import Any, NoReturn

from stoker.any_python.layout import is_remote
from stoker.any_python.lines import say
from stoker.artifacts import Artifact, ArtifactMap
from stoker.dsl.channel import Channel
from stoker.dsl.component import BaseComponent, Node
from stoker.dsl.pipeline import Pipeline
from stoker.errors import MissingPart
from stoker.launchers.processes import WarmProcesses
from stoker.metadata.config import (
    STORE_VARIABLE,
    as_store_config,
    find_store_variable,
    names_no_place,
)
from stoker.metadata.records import SKIPPED, Execution
from stoker.notebook.result import ExecutionResult, display, is_in_ipython
from stoker.runner import run_step
from stoker.runner.console import Console
from stoker.runner.endings import end_briefly
from stoker.stand_ins.tfx.metadata import sqlite_metadata_connection_config


class InteractiveContext:
    """Runs the components of a pipeline one by one, and shows what they made.

    Each runs as in a pipeline: in a process of its own, cached, recorded in the metadata store. It
    reads what the components before it made in this context. Without a `pipeline_root`, outputs go
    to a temporary folder; with one, they and the cache are there when the kernel has ended.
    """

    def __init__(
        self,
        pipeline_name: str | None = None,
        pipeline_root: str | os.PathLike[str] | None = None,
        metadata_connection_config: Any = None,
        beam_pipeline_args: list[str] | None = None,
    ) -> None:
        """Make a context, whose components run in processes of their own.

        Args:
            pipeline_name: What its runs are called in the store; "interactive" by default.
            pipeline_root: Where the outputs go; a new temporary folder by default.
            metadata_connection_config: The store of runs and artifacts. By default SQLite, in the
                file metadata.sqlite of the root.
            beam_pipeline_args: Flags of Apache Beam, for components that have none of their own.
        """
        self.pipeline_name = pipeline_name or "interactive"
        root = os.fspath(pipeline_root or tempfile.mkdtemp(prefix="stoker-"))
        self.pipeline_root = root if is_remote(root) else os.path.abspath(root)
        self.metadata_connection_config = _choose_store(
            metadata_connection_config, self.pipeline_root
        )
        self.beam_pipeline_args = list(beam_pipeline_args or ())
        self._executions: dict[Node, Execution] = {}
        """The components whose last run in this context ended well, or was left out."""
        self._declared: dict[Node, ArtifactMap] = {}
        self._launcher = WarmProcesses()
        weakref.finalize(self, self._launcher.end)
        if not pipeline_root:
            say(
                f"Outputs go to {self.pipeline_root}. Keep them elsewhere, and the cache with "
                "them: InteractiveContext(pipeline_root=…)."
            )

    def run(
        self,
        component: Node,
        enable_cache: bool = True,
        beam_pipeline_args: list[str] | None = None,
        *,
        fresh: bool = False,
    ) -> ExecutionResult:
        """Run a component, unless nothing has changed since it was run before.

        A training that was stopped goes on where it was; with `fresh`, it starts anew.
        """
        with contextlib.nullcontext() if is_in_ipython() else end_briefly():
            return self._run(component, enable_cache, beam_pipeline_args, fresh=fresh)

    def _run(
        self,
        component: Node,
        enable_cache: bool,
        beam_pipeline_args: list[str] | None,
        *,
        fresh: bool,
    ) -> ExecutionResult:
        if not isinstance(component, Node):
            raise TypeError(f"context.run(…) takes a component, got {component!r}.")
        before = self._outputs_before(component)
        self._forget(component)
        try:
            execution, outputs = run_step(
                self._pipeline_of(component, enable_cache, beam_pipeline_args),
                component,
                before=before,
                skipped=[node.id for node in component.upstream_nodes if self._was_skipped(node)],
                fresh=fresh,
                launcher=self._launcher,
                console=Console(err=sys.stdout),  # a notebook shows standard error as trouble
            )
        except KeyboardInterrupt:
            raise _Stopped(component) from None
        for key, channel in component.outputs.items():
            channel.set_artifacts(outputs.get(key, []))
        self._executions[component] = execution
        return ExecutionResult(component=component, execution=execution)

    def show(self, item: Artifact | Channel | ExecutionResult | Node | list[Any]) -> None:
        """Show artifacts: one, those of a channel, or all that a component made."""
        for artifact in self._artifacts_of(item):
            display(artifact)

    def export_to_pipeline(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: a notebook's components make a pipeline without being rewritten."""
        raise MissingPart(
            "InteractiveContext.export_to_pipeline is not in this version of Stoker. Put the cells "
            "that make the components into pipeline.py, and let LocalDagRunner().run(Pipeline("
            "components=[…])) run them instead of context.run(…)."
        )

    def _pipeline_of(
        self, component: Node, enable_cache: bool, beam_pipeline_args: list[str] | None
    ) -> Pipeline:
        pipeline = Pipeline(
            self.pipeline_name,
            self.pipeline_root,
            self.metadata_connection_config,
            enable_cache=enable_cache,
            beam_pipeline_args=beam_pipeline_args or self.beam_pipeline_args,
        )
        # Set, not given: a cell that was run twice has made two components of one name.
        pipeline.components = _with_ancestors(component)
        return pipeline

    def _outputs_before(self, component: Node) -> dict[str, ArtifactMap]:
        """What the components that this one reads from have made, by their names."""
        before: dict[str, ArtifactMap] = {}
        for one in component.upstream_nodes:
            if one not in self._executions:
                raise NotRunYet(
                    f"{component.id} reads from {one.id}, which has not been run in this context, "
                    f"or whose last run failed. Call context.run(…) on the {one.id} first."
                )
            if set(component.loops) & set(one.loops):
                raise ValueError(
                    f"{component.id} and {one.id} are in one `with ForEach(…):`, which a notebook "
                    "cannot run step by step. Give each a block of its own, or run a pipeline."
                )
            if one.id in before:
                raise ValueError(
                    f"{component.id} reads from two components that are named {one.id!r}. Name one "
                    f"of them, .with_id('{one.id}_2'), and run it again."
                )
            before[one.id] = {key: channel.get() for key, channel in one.outputs.items()}
        return before

    def _was_skipped(self, component: Node) -> bool:
        return self._executions[component].standing == SKIPPED

    def _forget(self, component: Node) -> None:
        """Have the channels hold what they did when the component was made."""
        self._executions.pop(component, None)
        held = {key: channel.get() for key, channel in component.outputs.items()}
        for key, artifacts in self._declared.setdefault(component, held).items():
            component.outputs[key].set_artifacts(artifacts)

    def _artifacts_of(self, item: Any) -> list[Artifact]:
        match item:
            case Artifact():
                return [item]
            case Channel():
                return item.get() or self._nothing_in(item)
            case Node() | ExecutionResult():
                return self._artifacts_of(list(item.outputs.values()))
            case list() | tuple():
                return [artifact for one in item for artifact in self._artifacts_of(one)]
        raise TypeError(
            "context.show(…) takes an artifact, a channel such as trainer.outputs['model'], or a "
            f"component, got {item!r}."
        )

    def _nothing_in(self, channel: Channel) -> list[Artifact]:
        maker = channel.producer
        if maker and maker not in self._executions:
            raise NotRunYet(
                f"{channel!r} is empty: {maker.id} has not been run in this context, or its last "
                f"run failed. Call context.run(…) on the {maker.id} first."
            )
        return []


class _OneLine(BaseException):
    """What a notebook shows without the way it took through our code."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class NotRunYet(_OneLine, ValueError):
    """A component is asked for what it, or one before it, has not made."""


class _Stopped(_OneLine, KeyboardInterrupt):
    """The kernel was interrupted while a component ran."""

    def __init__(self, component: Node) -> None:
        resumable = isinstance(component, BaseComponent) and component.RESUMABLE
        hint = " Its next run goes on where it was, or starts anew: context.run(…, fresh=True)."
        super().__init__(f"{component.id} was stopped.{hint if resumable else ''}")


def _with_ancestors(component: Node) -> list[Node]:
    """A component after all those that it is made from, which say with it which Keras it gets."""
    found = [component]
    for node in found:
        found += [upstream for upstream in node.upstream_nodes if upstream not in found]
    return found[::-1]


def _choose_store(declared: Any, pipeline_root: str) -> Any:
    """The store that the environment names, as for all runs; else the one that is declared."""
    declares = declared is not None and not names_no_place(declared)
    if named := find_store_variable():
        if declares and as_store_config(declared) != named:
            say(f"Records go to {named.place}, as {STORE_VARIABLE} says.")
        return sqlite_metadata_connection_config(named.path) if named.is_file else named
    if declares:
        return declared
    if is_remote(pipeline_root):
        return None  # the first run says what it needs
    of_pipelines = os.path.join(pipeline_root, "metadata.db")
    of_notebooks = os.path.join(pipeline_root, "metadata.sqlite")  # as TFX calls it
    is_known = os.path.exists(of_pipelines) and not os.path.exists(of_notebooks)
    return sqlite_metadata_connection_config(of_pipelines if is_known else of_notebooks)
