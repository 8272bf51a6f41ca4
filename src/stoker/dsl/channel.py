# SPDX-License-Identifier: Apache-2.0
"""Channels: the typed edges of a pipeline, from the step that writes to the steps that read."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from stoker.artifacts import Artifact
from stoker.dsl.conditions import Placeholder

if TYPE_CHECKING:
    from stoker.dsl.component import Node

__all__ = ["Channel", "UnionChannel", "as_channel", "union"]

_Type = type  # the argument `type` of Channel, TFX's name for it, hides the builtin


class Channel:
    """Artifacts of one type: those that a step will write, or some that are there already."""

    def __init__(
        self,
        type: type[Artifact],
        additional_properties: dict[str, Any] | None = None,
        additional_custom_properties: dict[str, Any] | None = None,
        artifacts: Iterable[Artifact] | None = None,
        producer_component_id: str | None = None,
        output_key: str | None = None,
    ) -> None:
        if not (isinstance(type, _Type) and issubclass(type, Artifact)):
            raise ValueError(f"A Channel's type is an Artifact class, got {type!r}.")
        self.type = type
        self.additional_properties = dict(additional_properties or {})
        self.additional_custom_properties = dict(additional_custom_properties or {})
        self.producer: Node | None = None
        self.producer_component_id = producer_component_id
        self.output_key = output_key
        self._artifacts = list(artifacts or ())

    def __repr__(self) -> str:
        source = f" from {self.producer.id}[{self.output_key!r}]" if self.producer else ""
        return f"Channel({self.type_name}{source})"

    @property
    def type_name(self) -> str:
        """The name of the type in the store."""
        return str(self.type.TYPE_NAME)

    def get(self) -> list[Artifact]:
        """The artifacts that are there already, without a step to write them."""
        return list(self._artifacts)

    def set_artifacts(self, artifacts: Iterable[Artifact]) -> Self:
        """Give the channel artifacts that are there already."""
        self._artifacts = list(artifacts)
        return self

    @property
    def parts(self) -> "Sequence[Channel]":
        """The channels that this one is made of: itself, unless it is a union."""
        return [self]

    def as_optional(self) -> Self:
        """This channel: an input that a step declares as optional may be empty anyway."""
        return self

    def no_trigger(self) -> Self:
        """This channel: a local run has no triggers."""
        return self

    def future(self) -> Placeholder:
        """What this channel will hold when the pipeline runs, for a condition to ask about."""
        name = f"{self.producer.id}.outputs[{self.output_key!r}]" if self.producer else repr(self)
        return Placeholder(name, self, list)


class UnionChannel(Channel):
    """Several channels of one type, read as one."""

    def __init__(self, channels: Iterable[Channel]) -> None:
        self.channels = list(channels)
        kinds = {channel.type for channel in self.channels}
        if len(kinds) != 1:
            names = sorted(kind.__name__ for kind in kinds)
            raise ValueError(f"union() takes channels of one type, got {names or 'no channel'}.")
        super().__init__(kinds.pop())

    @property
    def parts(self) -> Sequence[Channel]:  # noqa: D102
        return [part for channel in self.channels for part in channel.parts]


def union(channels: Iterable[Channel]) -> UnionChannel:
    """Several channels of one type as one input."""
    return UnionChannel(channels)


def as_channel(source: Channel | Iterable[Artifact]) -> Channel:
    """`source` itself if it is a channel, else a channel that holds these artifacts."""
    if isinstance(source, Channel):
        return source
    artifacts = list(source)
    if not artifacts or not all(isinstance(one, Artifact) for one in artifacts):
        raise ValueError(f"Expected a Channel or a list of artifacts, got {source!r}.")
    return Channel(type(artifacts[0])).set_artifacts(artifacts)
