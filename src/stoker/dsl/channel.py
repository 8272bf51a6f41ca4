# SPDX-License-Identifier: Apache-2.0
"""Channels: the typed edges of a pipeline, from the step that writes to the steps that read."""

import copy
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from stoker.artifacts import Artifact
from stoker.dsl.placeholders import ArtifactPlaceholder, Published
from stoker.dsl.refusals import Declared

if TYPE_CHECKING:
    from stoker.dsl.component import Node

__all__ = ["Channel", "UnionChannel", "as_channel", "union"]

_Type = type  # the argument `type` of Channel, TFX's name for it, hides the builtin


class Channel(metaclass=Declared):
    """Artifacts of one type: those that a step will write, or some that are there already."""

    pipeline_name: str | None = None
    """The pipeline that has published them, if it is another one."""
    pipeline_run_id: str | None = None
    """The run that has published them; None for all runs."""

    def __init__(
        self,
        type: type[Artifact],
        additional_properties: dict[str, Any] | None = None,
        additional_custom_properties: dict[str, Any] | None = None,
        artifacts: Iterable[Artifact] | None = None,
        producer_component_id: str | None = None,
        output_key: str | None = None,
        *,
        matching_channel_name: str | None = None,  # noqa: ARG002 - TFX 0.2x; one artifact fits all
    ) -> None:
        if not (isinstance(type, _Type) and issubclass(type, Artifact)):
            raise ValueError(f"A Channel's type is an Artifact class, got {type!r}.")
        self.type = type
        self.additional_properties = dict(additional_properties or {})
        self.additional_custom_properties = dict(additional_custom_properties or {})
        self.producer: Node | None = None
        self._producer_component_id = producer_component_id
        self.output_key = output_key
        self.is_optional = False
        """Whether the steps that read it run though it turns out to hold nothing."""
        self._artifacts = list(artifacts or ())

    def __repr__(self) -> str:
        source = f" from {self.producer.id}[{self.output_key!r}]" if self.producer else ""
        return f"Channel({self.type_name}{source})"

    @property
    def type_name(self) -> str:
        """The name of the type in the store."""
        return str(self.type.TYPE_NAME)

    @property
    def producer_component(self) -> "Node | None":
        """The step that fills it, by TFX's name for that."""
        return self.producer

    @property
    def producer_component_id(self) -> str | None:
        """The id of the step that fills it, or of the one that it was made for."""
        return self.producer.id if self.producer else self._producer_component_id

    def to_json_dict(self) -> dict[str, Any]:
        """What it is, as plain JSON."""
        return {
            "type": self.type_name,
            "artifacts": [artifact.to_json_dict() for artifact in self.get()],
            "additional_properties": self.additional_properties,
            "additional_custom_properties": self.additional_custom_properties,
            "producer_component_id": self.producer_component_id,
            "output_key": self.output_key,
        }

    def get(self) -> list[Artifact]:
        """The artifacts that are there already, without a step to write them."""
        return list(self._artifacts)

    def set_artifacts(self, artifacts: Iterable[Artifact]) -> Self:
        """Give the channel artifacts that are there already."""
        self._artifacts = list(artifacts)
        return self

    @property
    def parts(self) -> "Sequence[Channel]":
        """The channels that this one is made of: itself, unless it is made of others."""
        return [self]

    def read(self, published: Published) -> list[Artifact]:
        """What it holds, now that the run has published something."""
        return list(published(self))

    def as_optional(self) -> Self:
        """The same channel for a step that is to run even if it turns out to hold nothing."""
        optional = copy.copy(self)
        optional.is_optional = True
        return optional

    def no_trigger(self) -> Self:
        """This channel: a local run has no triggers."""
        return self

    def trigger_by_property(self, *_: str) -> Self:
        """This channel: a local run has no triggers."""
        return self

    def future(self) -> ArtifactPlaceholder:
        """What this channel will hold when the pipeline runs, to ask about or to give to a step."""
        name = f"{self.producer.id}.outputs[{self.output_key!r}]" if self.producer else repr(self)
        return ArtifactPlaceholder(
            name, lambda facts: self.read(facts.published), (self,), self.type_name
        )


class ExternalPipelineChannel(Channel):
    """What another pipeline has published in the same store."""

    def __init__(
        self,
        artifact_type: type[Artifact],
        *,
        pipeline_name: str,
        producer_component_id: str,
        output_key: str,
        owner: str = "",
        pipeline_run_id: str = "",
    ) -> None:
        super().__init__(
            artifact_type, producer_component_id=producer_component_id, output_key=output_key
        )
        self.owner = owner
        self.pipeline_name = pipeline_name
        self.pipeline_run_id = pipeline_run_id or None


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

    def read(self, published: Published) -> list[Artifact]:  # noqa: D102
        return [artifact for channel in self.channels for artifact in channel.read(published)]


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
