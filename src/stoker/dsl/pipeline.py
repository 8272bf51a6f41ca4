# SPDX-License-Identifier: Apache-2.0
"""Pipelines: components in the order that their data flow demands."""

import enum
import graphlib
import os
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from stoker.any_python.layout import check_file_name
from stoker.any_python.lines import did_you_mean
from stoker.dsl.channel import Channel
from stoker.dsl.component import ChannelMap, Node
from stoker.dsl.parameters import RuntimeParameter
from stoker.dsl.partial_run import PartialRun
from stoker.dsl.placeholders import Placeholder
from stoker.dsl.places import check_places
from stoker.metadata.config import (
    StoreConfig,
    as_store_config,
    names_no_place,
    sqlite_metadata_connection_config,
)

__all__ = ["ExecutionMode", "Pipeline", "PipelineInputs", "in_order"]


_STORE = "metadata.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineInfo:
    """What a pipeline is called, and where it writes."""

    pipeline_name: str
    pipeline_root: str | RuntimeParameter | Placeholder


class ExecutionMode(enum.Enum):
    """Whether a pipeline ends: here it always does."""

    SYNC = 1
    ASYNC = 2


class PipelineInputs:
    """What a pipeline inside another one reads of it, by key."""

    def __init__(self, inputs: Mapping[str, Channel] | None = None) -> None:
        self.inputs = ChannelMap(inputs or {})

    def __getitem__(self, key: str) -> Channel:
        return self.inputs[key]

    @property
    def raw_inputs(self) -> ChannelMap:
        """The inputs, by the name that TFX has for them outside of the inner pipeline."""
        return self.inputs


class Pipeline(Node):
    """Named components that run together, and where their outputs and records are kept.

    A pipeline may be a component of another one, which then runs its components with its own.
    """

    def __init__(
        self,
        pipeline_name: str,
        pipeline_root: str | RuntimeParameter | Placeholder | None = None,
        metadata_connection_config: StoreConfig | Message | None = None,
        components: Iterable[Node] | None = None,
        enable_cache: bool = False,
        beam_pipeline_args: list[Any] | None = None,
        platform_config: Any = None,
        execution_mode: ExecutionMode = ExecutionMode.SYNC,
        inputs: PipelineInputs | None = None,
        outputs: Mapping[str, Channel] | None = None,
        run_options: PartialRun | None = None,
        metadata_db_root: str | None = None,
        **accepted: Any,
    ) -> None:
        """Declare the pipeline.

        Args:
            pipeline_name: What its runs are called in the store.
            pipeline_root: Where the outputs go: a folder, or a URL in a bucket. The current folder
                by default.
            metadata_connection_config: The store of runs and artifacts. By default SQLite, in the
                file metadata.db of the root.
            components: The steps, in any order: each runs after those that it reads from.
            enable_cache: Whether a step that would do the same again gives its earlier outputs
                instead.
            beam_pipeline_args: Flags of Apache Beam, for steps that have none of their own.
            platform_config: For placeholders that read it; nothing else does.
            execution_mode: Accepted for TFX's pipelines; every pipeline ends.
            inputs: What a pipeline inside another one reads of it.
            outputs: What it gives to the other one, by key.
            run_options: Which of the steps to run; all of them by default.
            metadata_db_root: An older way to say where the store is: the folder of its file.
            accepted: Arguments of older versions of TFX. One that no version has is warned of.
        """
        _warn_of(sorted(set(accepted) - _ACCEPTED))
        if metadata_db_root and metadata_connection_config is None:  # before there were configs
            metadata_connection_config = sqlite_metadata_connection_config(
                os.path.join(metadata_db_root, _STORE)
            )
        self.pipeline_name = check_file_name(pipeline_name, "A pipeline's name")
        super().__init__(inputs=inputs.inputs if inputs else None)
        self.id = pipeline_name
        self.outputs = ChannelMap(outputs or {})
        is_given = isinstance(pipeline_root, Placeholder) or pipeline_root
        self.pipeline_root = pipeline_root if pipeline_root is not None and is_given else "."
        self.enable_cache = enable_cache
        self.beam_pipeline_args = list(beam_pipeline_args or ())
        self.platform_config = platform_config
        self.execution_mode = execution_mode
        self.run_options = run_options
        self.metadata_connection_config = metadata_connection_config
        self._store_config = (
            None
            if metadata_connection_config is None or names_no_place(metadata_connection_config)
            else as_store_config(metadata_connection_config)
        )
        self.components = in_order(components or (), outside=self.upstream_nodes)
        _name_steps(self)
        for step in self.steps:
            step.conditions = tuple(_without_repeats((*self.conditions, *step.conditions)))
            step.loops = tuple(_without_repeats((*self.loops, *step.loops)))
        check_places(self.pipeline_root, self.steps)
        _fill_in_downstream_nodes(self.steps)
        _warn_of_forgotten(self)

    @property
    def pipeline_info(self) -> PipelineInfo:
        """The pipeline's name and root, where TFX's code looks for them."""
        return PipelineInfo(pipeline_name=self.pipeline_name, pipeline_root=self.pipeline_root)

    @property
    def steps(self) -> list[Node]:
        """Every step, those of the pipelines in it among them, in the order in which they run."""
        return [step for component in self.components for step in component.steps]

    def add_upstream_node(self, node: Node) -> None:
        """Run every step after `node`."""
        super().add_upstream_node(node)
        for step in self.steps:
            step.add_upstream_node(node)

    @property
    def declares_store(self) -> bool:
        """Whether it says where its records are kept."""
        return self._store_config is not None

    def store_config(self, pipeline_root: str) -> StoreConfig:
        """Where the records are kept: as configured, else beside the outputs."""
        return self._store_config or sqlite_metadata_connection_config(
            os.path.join(pipeline_root, _STORE)
        )


def _name_steps(pipeline: Pipeline, within: tuple[str, ...] = ()) -> None:
    """Name the steps of pipelines in pipelines after those, so that two may have one name."""
    for component in pipeline.components:
        component.within = within
        if isinstance(component, Pipeline):
            _name_steps(component, (*within, component.pipeline_name))


def _without_repeats(values: Iterable[Any]) -> Iterable[Any]:
    """Placeholders cannot be compared; they are the same where they are one object."""
    return {id(value): value for value in values}.values()


def _fill_in_downstream_nodes(steps: list[Node]) -> None:
    for step in steps:
        step.downstream_nodes = []
    for step in steps:
        for one in step.upstream_nodes:
            one.downstream_nodes.append(step)


# Arguments of TFX's Pipeline that say how other orchestrators should run it.
_ACCEPTED = {"log_root", "additional_pipeline_args"}
_TAKEN = (
    *("pipeline_name", "pipeline_root", "metadata_connection_config", "components"),
    *("enable_cache", "beam_pipeline_args", "platform_config", "execution_mode", "inputs"),
    *("outputs", "run_options"),
)


def _warn_of(unknown: list[str]) -> None:
    """TFX takes any argument and says nothing: many pipelines have one that is misspelled."""
    for name in unknown:
        warnings.warn(
            f"Pipeline has no argument {name!r}, which is ignored; it has {', '.join(_TAKEN)}."
            f"{did_you_mean(name, _TAKEN)}",
            stacklevel=3,
        )


def in_order(components: Iterable[Node], outside: Collection[Node] = ()) -> list[Node]:
    """The components, each after those it reads from or waits for; otherwise as they were given.

    What is `outside` has been made before the first of them.
    """
    given = list(dict.fromkeys(components))
    _check_ids(given)
    position = {component: index for index, component in enumerate(given)}
    owners = {step: component for component in given for step in component.steps}
    upstream = {
        component: _find_upstream(component, owners, outside) - {component} for component in given
    }
    sorter = graphlib.TopologicalSorter(upstream)
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        cycle = " -> ".join(node.id for node in error.args[1])
        raise ValueError(
            f"These steps wait for each other: {cycle}. Leave out one of these inputs."
        ) from None
    ordered: list[Node] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=position.__getitem__)
        ordered += ready
        sorter.done(*ready)
    return ordered


def _find_upstream(
    component: Node, owners: Mapping[Node, Node], outside: Collection[Node]
) -> set[Node]:
    """The components before this one, which may be itself: a pipeline has steps that wait."""
    found = set()
    for step in component.steps:
        for upstream in step.upstream_nodes:
            if upstream in owners:
                found.add(owners[upstream])
            elif upstream not in outside and not step.can_do_without(upstream):
                raise ValueError(
                    f"{step.id} needs {upstream.id}, which is not in the pipeline. "
                    f"Add it to Pipeline(components=[…])."
                )
    return found


def _warn_of_forgotten(pipeline: "Pipeline") -> None:
    """Tell of steps that are not listed, and whose readers go on without them, as they do in TFX.

    Many pipelines give Evaluator the output of a Resolver that they forget.
    """
    known = {*pipeline.steps, *pipeline.upstream_nodes}
    for step in pipeline.steps:
        for upstream in step.upstream_nodes:
            if upstream not in known:
                warnings.warn(
                    f"{step.id} gets nothing from {upstream.id}, which is not in "
                    "Pipeline(components=[…]). Did you forget it?",
                    stacklevel=3,
                )


def _check_ids(nodes: list[Node]) -> None:
    seen: set[str] = set()
    for node in nodes:
        if not isinstance(node, Node):
            raise TypeError(f"Pipeline(components=[…]) takes components, got {node!r}.")
        if node.id in seen:
            raise ValueError(
                f"Two components are named {node.id!r}. Name one of them: .with_id('{node.id}_2')."
            )
        seen.add(node.id)
