# SPDX-License-Identifier: Apache-2.0
"""Resolver: artifacts of earlier runs, such as the latest model, as inputs of this one."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from stoker.artifacts import Artifact
from stoker.dsl.channel import Channel
from stoker.dsl.component import Node

__all__ = ["LatestArtifactStrategy", "Resolver", "ResolverNode", "ResolverStrategy"]

Candidates = Mapping[str, list[Artifact]]


class ResolverStrategy(Protocol):
    """Chooses among the artifacts that earlier runs have published."""

    def resolve_artifacts(
        self, metadata_store: Any, input_dict: dict[str, list[Artifact]]
    ) -> dict[str, list[Artifact]] | None:
        """What to use of `input_dict`, which is oldest first; None if there is nothing fitting."""


class LatestArtifactStrategy:
    """The newest artifact, or the newest few, for each key."""

    def __init__(self, desired_num_of_artifacts: int = 1) -> None:
        if desired_num_of_artifacts < 1:
            raise ValueError(
                f"desired_num_of_artifacts must be at least 1, got {desired_num_of_artifacts}."
            )
        self._wanted = desired_num_of_artifacts

    def resolve_artifacts(
        self,
        metadata_store: Any,  # noqa: ARG002
        input_dict: dict[str, list[Artifact]],
    ) -> dict[str, list[Artifact]] | None:
        """The newest of each key, newest first."""
        return {
            key: sorted(found, key=lambda one: one.id, reverse=True)[: self._wanted]
            for key, found in input_dict.items()
        }


class Resolver(Node):
    """Finds artifacts of earlier runs of this pipeline; its outputs have the keys of its inputs."""

    TYPE_NAME: ClassVar = "tfx.dsl.components.common.resolver.Resolver"

    def __init__(
        self,
        strategy_class: type[ResolverStrategy] = LatestArtifactStrategy,
        config: dict[str, Any] | None = None,
        instance_name: str | None = None,
        **channels: Channel,
    ) -> None:
        if not channels:
            raise ValueError(
                "Resolver needs a channel for each artifact to find, such as "
                "Resolver(strategy_class=LatestArtifactStrategy, model=Channel(type=Model))."
            )
        self.strategy_class = strategy_class
        self.config = dict(config or {})
        self._strategy = strategy_class(**self.config)
        super().__init__(
            inputs=channels,
            outputs={key: Channel(channel.type) for key, channel in channels.items()},
            instance_name=instance_name,
        )

    @property
    def exec_properties(self) -> dict[str, Any]:  # noqa: D102
        return {"strategy": self.strategy_class.__name__, "config": self.config}

    def resolve(self, candidates: Candidates, store: Any) -> dict[str, list[Artifact]]:
        """What the strategy chooses of the candidates; empty lists where it finds nothing."""
        chosen = self._strategy.resolve_artifacts(store, dict(candidates)) or {}
        return {key: list(chosen.get(key, [])) for key in self.outputs}


class ResolverNode(Resolver):
    """Resolver's old name, with the old names of arguments."""

    def __init__(
        self,
        instance_name: str,
        resolver_class: type[ResolverStrategy] = LatestArtifactStrategy,
        resolver_configs: dict[str, Any] | None = None,
        **channels: Channel,
    ) -> None:
        super().__init__(resolver_class, resolver_configs, instance_name, **channels)
