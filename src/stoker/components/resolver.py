# SPDX-License-Identifier: Apache-2.0
"""Resolver: artifacts of earlier runs, such as the latest model, as inputs of this one."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from stoker.artifacts import Artifact, Model, ModelBlessing
from stoker.dsl import Artifacts, Channel, Node
from stoker.dsl.proto.range_config_pb2 import RangeConfig


class ResolverStrategy(Protocol):
    """Chooses among the artifacts that earlier runs have published."""

    def resolve_artifacts(self, metadata_store: Any, input_dict: Artifacts) -> Artifacts | None:
        """What to use of `input_dict`, which is oldest first; None if there is nothing fitting."""


class LatestArtifactStrategy:
    """The newest artifact, or the newest few, for each key."""

    def __init__(self, desired_num_of_artifacts: int = 1) -> None:
        if desired_num_of_artifacts < 1:
            raise ValueError(
                f"desired_num_of_artifacts must be at least 1, got {desired_num_of_artifacts}."
            )
        self._wanted = desired_num_of_artifacts

    def resolve_artifacts(self, metadata_store: Any, input_dict: Artifacts) -> Artifacts | None:  # noqa: ARG002
        """The newest of each key, newest first."""
        return {
            key: sorted(found, key=lambda one: one.id, reverse=True)[: self._wanted]
            for key, found in input_dict.items()
        }


class LatestBlessedModelStrategy:
    """The newest model that an Evaluator has blessed, and its blessing."""

    def resolve_artifacts(self, metadata_store: Any, input_dict: Artifacts) -> Artifacts | None:  # noqa: ARG002
        """The model and the blessing, under the keys that hold such artifacts."""
        models = {artifact.id: key for key, artifact in _every(input_dict, Model)}
        for key, blessing in reversed(_every(input_dict, ModelBlessing)):
            model_id = blessing.get_int_custom_property("current_model_id")
            if blessing.get_int_custom_property("blessed") == 1 and model_id in models:
                model_key = models[model_id]
                model = next(one for one in input_dict[model_key] if one.id == model_id)
                return {model_key: [model], key: [blessing]}
        return None


class SpanRangeStrategy:
    """Examples of a range of spans, the newest version of each, newest span first."""

    def __init__(self, range_config: RangeConfig) -> None:
        self._range = range_config

    def resolve_artifacts(self, metadata_store: Any, input_dict: Artifacts) -> Artifacts | None:  # noqa: ARG002
        """The artifacts of each key whose spans are in the range."""
        return {key: self._in_range(found) for key, found in input_dict.items()}

    def _in_range(self, found: list[Artifact]) -> list[Artifact]:
        by_span: dict[int, Artifact] = {}
        for artifact in sorted(found, key=lambda one: (_number(one, "version"), one.id)):
            by_span[_number(artifact, "span")] = artifact
        spans = sorted(by_span, reverse=True)
        match self._range.WhichOneof("range"):
            case "static_range":
                first = self._range.static_range.start_span_number
                last = self._range.static_range.end_span_number
                chosen = [span for span in spans if first <= span <= last]
            case "rolling_range":
                rolling = self._range.rolling_range
                spans = [span for span in spans if span >= rolling.start_span_number]
                chosen = spans[: rolling.num_spans]
            case _:
                chosen = spans
        return [by_span[span] for span in chosen]


def _every(found: Mapping[str, list[Artifact]], kind: type[Artifact]) -> list[tuple[str, Artifact]]:
    """The artifacts of one type under all keys, oldest first."""
    wanted = [
        (key, one) for key, many in found.items() for one in many if one.type_name == kind.TYPE_NAME
    ]
    return sorted(wanted, key=lambda pair: pair[1].id)


def _number(artifact: Artifact, name: str) -> int:
    value = artifact.properties.get(name, 0)
    return value if isinstance(value, int) else 0


class Resolver(Node):
    """Finds artifacts of earlier runs; its outputs have the keys of its inputs."""

    TYPE_NAME: ClassVar = "tfx.dsl.components.common.resolver.Resolver"

    def __init__(
        self,
        strategy_class: type[ResolverStrategy] = LatestArtifactStrategy,
        config: dict[str, Any] | None = None,
        instance_name: str | None = None,
        across_pipelines: bool = False,
        **channels: Channel,
    ) -> None:
        """Declare the step.

        Args:
            strategy_class: How to choose among what is found; by default the newest artifacts.
            config: The arguments of the strategy, such as {"desired_num_of_artifacts": 2}.
            instance_name: An older way to name the step; `with_id` is today's.
            across_pipelines: Whether to look at every pipeline in the store, instead of earlier
                runs of this one.
            channels: What to find, by the keys of the outputs: `model=Channel(type=Model)`.
        """
        if not channels:
            raise ValueError(
                "Resolver needs a channel for each artifact to find, such as "
                "Resolver(strategy_class=LatestArtifactStrategy, model=Channel(type=Model))."
            )
        for key, channel in channels.items():
            if not isinstance(channel, Channel):
                raise TypeError(f"Resolver: {key!r} takes a channel, got {channel!r}.")
        _check_types(strategy_class, channels)
        self.strategy_class = strategy_class
        self.across_pipelines = across_pipelines
        self._config = dict(config or {})
        self._strategy = strategy_class(**self._config)
        super().__init__(
            inputs=channels,
            outputs={key: Channel(channel.type) for key, channel in channels.items()},
            instance_name=instance_name,
        )

    @property
    def exec_properties(self) -> dict[str, Any]:  # noqa: D102
        config = {name: str(value) for name, value in self._config.items()}
        return {"strategy": self.strategy_class.__name__, "config": config}

    def resolve(self, candidates: Mapping[str, list[Artifact]], store: Any) -> Artifacts:
        """What the strategy chooses of the candidates; empty lists where it finds nothing."""
        chosen = self._strategy.resolve_artifacts(store, dict(candidates)) or {}
        return {key: list(chosen.get(key, [])) for key in self.outputs}


def _check_types(strategy_class: type[Any], channels: Mapping[str, Channel]) -> None:
    """What a strategy of ours cannot choose among is refused before anything runs."""
    types = [channel.type_name for channel in channels.values()]
    wanted = [Model.TYPE_NAME, ModelBlessing.TYPE_NAME]
    if strategy_class is LatestBlessedModelStrategy and sorted(types) != wanted:
        raise ValueError(
            "LatestBlessedModelStrategy needs one channel of Model and one of ModelBlessing, got "
            f"{', '.join(types)}."
        )
    if strategy_class is SpanRangeStrategy:
        for key, channel in channels.items():
            if "span" not in (channel.type.PROPERTIES or {}):
                raise ValueError(
                    f"SpanRangeStrategy needs artifacts with spans, such as Examples; {key!r} is "
                    f"{channel.type_name}."
                )


class ResolverNode(Resolver):
    """Resolver's old name, with the old names of arguments."""

    def __init__(
        self,
        instance_name: str,
        resolver_class: type[ResolverStrategy] = LatestArtifactStrategy,
        resolver_configs: dict[str, Any] | None = None,
        **channels: Channel,
    ) -> None:
        """Declare the step; the arguments are those of Resolver."""
        super().__init__(
            resolver_class, resolver_configs, instance_name, across_pipelines=False, **channels
        )
