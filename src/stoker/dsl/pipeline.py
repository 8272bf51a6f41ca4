# SPDX-License-Identifier: Apache-2.0
"""Pipelines: components in the order that their data flow demands."""

import graphlib
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from stoker.any_python.names import check_file_name
from stoker.dsl.component import Node
from stoker.dsl.parameters import RuntimeParameter
from stoker.dsl.places import check_places
from stoker.metadata.config import (
    StoreConfig,
    as_store_config,
    names_no_place,
    sqlite_metadata_connection_config,
)

__all__ = ["Pipeline", "in_order"]


_STORE = "metadata.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineInfo:
    """What a pipeline is called, and where it writes."""

    pipeline_name: str
    pipeline_root: str | RuntimeParameter


class Pipeline:
    """Named components that run together, and where their outputs and records are kept."""

    def __init__(
        self,
        pipeline_name: str,
        pipeline_root: str | RuntimeParameter | None = None,
        metadata_connection_config: StoreConfig | Message | None = None,
        components: Iterable[Node] | None = None,
        enable_cache: bool = False,
        beam_pipeline_args: list[str] | None = None,
        metadata_db_root: str | None = None,
        **accepted: Any,
    ) -> None:
        _warn_of(sorted(set(accepted) - _ACCEPTED))
        if metadata_db_root and metadata_connection_config is None:  # before there were configs
            metadata_connection_config = sqlite_metadata_connection_config(
                os.path.join(metadata_db_root, _STORE)
            )
        self.pipeline_name = check_file_name(pipeline_name, "A pipeline's name")
        self.pipeline_root = pipeline_root or "."
        self.enable_cache = enable_cache
        self.beam_pipeline_args = list(beam_pipeline_args or ())
        self.metadata_connection_config = metadata_connection_config
        self._store_config = (
            None
            if metadata_connection_config is None or names_no_place(metadata_connection_config)
            else as_store_config(metadata_connection_config)
        )
        self.components = in_order(components or ())
        check_places(self.pipeline_root, self.components)
        _fill_in_downstream_nodes(self.components)

    @property
    def pipeline_info(self) -> PipelineInfo:
        """The pipeline's name and root, where TFX's code looks for them."""
        return PipelineInfo(pipeline_name=self.pipeline_name, pipeline_root=self.pipeline_root)

    @property
    def id(self) -> str:
        """The pipeline's name."""
        return self.pipeline_name

    def store_config(self, pipeline_root: str) -> StoreConfig:
        """Where the records are kept: as configured, else beside the outputs."""
        return self._store_config or sqlite_metadata_connection_config(
            os.path.join(pipeline_root, _STORE)
        )


def _fill_in_downstream_nodes(components: list[Node]) -> None:
    for node in components:
        node.downstream_nodes = []
    for node in components:
        for one in node.upstream_nodes:
            one.downstream_nodes.append(node)


# Arguments of TFX's Pipeline that say how other orchestrators should run it.
_ACCEPTED = {"platform_config", "execution_mode", "log_root", "additional_pipeline_args"}


def _warn_of(unknown: list[str]) -> None:
    """TFX takes any argument and says nothing: many pipelines have one that is misspelled."""
    for name in unknown:
        warnings.warn(
            f"Pipeline has no argument {name!r}, which is ignored; it has pipeline_name, "
            "pipeline_root, metadata_connection_config, components, enable_cache, "
            "beam_pipeline_args.",
            stacklevel=3,
        )


def in_order(components: Iterable[Node]) -> list[Node]:
    """The components, each after those it reads from or waits for; otherwise as they were given."""
    given = list(dict.fromkeys(components))
    _check_ids(given)
    position = {node: index for index, node in enumerate(given)}
    for node in given:
        for upstream in node.upstream_nodes:
            if upstream not in position:
                raise ValueError(
                    f"{node.id} needs {upstream.id}, which is not in the pipeline. "
                    f"Add it to Pipeline(components=[…])."
                )
    sorter = graphlib.TopologicalSorter({node: node.upstream_nodes for node in given})
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        cycle = " -> ".join(node.id for node in error.args[1])
        raise ValueError(f"These steps wait for each other: {cycle}.") from None
    ordered: list[Node] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=position.__getitem__)
        ordered += ready
        sorter.done(*ready)
    return ordered


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
