# SPDX-License-Identifier: Apache-2.0
"""Components: steps of a pipeline, each declared by one table of inputs, outputs and parameters.

class HelloSpec(ComponentSpec):
    PARAMETERS = {"name": ExecutionParameter(type=str)}
    INPUTS = {"examples": ChannelParameter(type=Examples)}
    OUTPUTS = {"greeting": ChannelParameter(type=Greeting)}

class Hello(BaseComponent):
    SPEC_CLASS = HelloSpec
    EXECUTOR_SPEC = ExecutorClassSpec(HelloExecutor)

    def __init__(self, examples, name):
        super().__init__(HelloSpec(examples=examples, name=name))

A constructor with many arguments need not repeat them: `ComponentSpec.from_arguments`.
"""

import json
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

from google.protobuf import json_format
from google.protobuf.message import Message

from stoker.any_python.layout import check_file_name
from stoker.any_python.lines import describe_unknown_argument, did_you_mean
from stoker.artifacts import Artifact, ArtifactMap
from stoker.dsl.channel import Channel
from stoker.dsl.conditions import conditions_here
from stoker.dsl.executor import (
    BaseBeamExecutor,
    BaseDriver,
    ExecutorClassSpec,
    parse_message,
    reference_to,
)
from stoker.dsl.loops import check_in_loops, loops_here
from stoker.dsl.parameters import RuntimeParameter, substitute
from stoker.dsl.placeholders import Facts, NotYet, Placeholder, fill_in, is_open, placeholders_in
from stoker.dsl.proto.example_gen_pb2 import CustomConfig
from stoker.dsl.resources import Resources
from stoker.dsl.users_files import find_declaring_folder
from stoker.errors import MissingPart
from stoker.metadata.masking import mask_item
from stoker.metadata.records import BaseType
from stoker.storage.needed import Needed
from stoker.task import Workers

__all__ = [
    "BaseComponent",
    "ChannelMap",
    "ChannelParameter",
    "ComponentSpec",
    "ExecutionParameter",
    "Node",
    "Problem",
    "UserCode",
]


@dataclass(frozen=True)
class ChannelParameter:
    """One typed input or output of a component."""

    type: type[Artifact]
    optional: bool = False
    allow_empty: bool = False
    """For an input: the step runs even when its channel turns out to hold nothing."""

    @property
    def required(self) -> bool:
        """For an input: the step cannot run without it."""
        return not (self.optional or self.allow_empty)


@dataclass(frozen=True)
class ExecutionParameter:
    """One typed parameter of a component; protobuf messages travel as their JSON text."""

    type: Any
    optional: bool = False
    use_proto: bool = False
    """Whether the executor gets a message as such, and not that text."""
    names_file: bool = False
    """Whether it is a path of the user's, which may be relative to the pipeline file too."""


class ChannelMap(dict[str, Channel]):
    """Channels by key; a wrong key is told the right ones, and attributes work as in old TFX."""

    def __init__(
        self,
        channels: Mapping[str, Channel] = MappingProxyType({}),
        *,
        older: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(channels)
        self._older = older

    def __missing__(self, key: str) -> Channel:
        if self._older.get(key) in self:
            return self[self._older[key]]
        known = ", ".join(map(repr, self)) or "none"
        raise KeyError(f"there is no {key!r} here; there is {known}.{did_you_mean(key, self)}")

    def __getattr__(self, name: str) -> Channel:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def get_all(self) -> dict[str, Channel]:
        """All channels, as a plain dict."""
        return dict(self)


class ComponentSpec:
    """A component's table, filled in: its channels and the values of its parameters."""

    PARAMETERS: ClassVar[dict[str, ExecutionParameter]] = {}
    INPUTS: ClassVar[dict[str, ChannelParameter]] = {}
    OUTPUTS: ClassVar[dict[str, ChannelParameter]] = {}
    OLDER_NAMES: ClassVar[dict[str, str]] = {}
    """What some of them were called in earlier editions of TFX: see older_names.py."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        seen: set[str] = set()
        for key in (*cls.PARAMETERS, *cls.INPUTS, *cls.OUTPUTS):
            if key in seen:
                raise ValueError(
                    f"{cls.__name__.removesuffix('Spec')} has {key!r} twice. Inputs, outputs and "
                    "parameters share one set of names: rename one of them."
                )
            seen.add(key)

    def __init__(self, **given: Any) -> None:
        self.inputs = ChannelMap()
        self.outputs = ChannelMap()
        self.exec_properties: dict[str, Any] = {}
        self.declaring_folder = find_declaring_folder()
        known = {*self.PARAMETERS, *self.INPUTS, *self.OUTPUTS}
        if unknown := sorted(set(given) - known):
            raise TypeError(describe_unknown_argument(self._name, unknown[0], sorted(known)))
        for key, declared in self.INPUTS.items():
            if (channel := given.get(key)) is not None:
                self.inputs[key] = self._check_channel(key, channel, declared)
            elif not declared.optional:
                raise ValueError(
                    f"{self._name} needs an input channel for {key!r}. Give {key}= an output of "
                    "another step, such as example_gen.outputs['examples']."
                )
        for key, declared in self.OUTPUTS.items():
            channel = given.get(key) or Channel(declared.type)
            self.outputs[key] = self._check_channel(key, channel, declared)
        for key, parameter in self.PARAMETERS.items():
            if (value := given.get(key)) is not None:
                self.exec_properties[key] = self._encode(key, value)
            elif not parameter.optional:
                raise ValueError(
                    f"{self._name} needs a value for the parameter {key!r}: give {key}=…."
                )

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any], /, **instead: Any) -> Self:
        """The table, filled in with the arguments of a constructor that have the names of rows.

        HelloSpec.from_arguments(locals(), name=name.strip())    # `instead` goes before
        """
        named = {key: arguments.get(key) for key in (*cls.INPUTS, *cls.PARAMETERS)}
        return cls(**{**named, **instead})

    @property
    def _name(self) -> str:
        return type(self).__name__.removesuffix("Spec")

    def _check_channel(self, key: str, channel: Any, declared: ChannelParameter) -> Channel:
        if not isinstance(channel, Channel):
            raise TypeError(
                f"{self._name}: {key!r} takes a channel, such as example_gen.outputs['examples'], "
                f"got {channel!r}."
            )
        if not issubclass(channel.type, declared.type) and channel.type_name != (
            declared.type.TYPE_NAME
        ):
            raise TypeError(
                f"{self._name}: {key!r} takes {declared.type.TYPE_NAME}, got {channel!r}."
            )
        return channel

    def _encode(self, key: str, value: Any) -> Any:
        """The value as it goes to the worker; what waits for RuntimeParameters stays as it is."""
        wanted = self.PARAMETERS[key].type
        if isinstance(value, RuntimeParameter | Placeholder) or wanted is Any:
            return value
        if message := _message_class(wanted):
            waits = isinstance(value, dict) and is_open(value)
            return value if waits else self._encode_message(key, value, message)
        if wanted is str and is_open(value):
            return value
        origin = typing.get_origin(wanted) or wanted
        if isinstance(origin, type) and not _is_a(value, origin):
            if wanted is str and callable(value):
                raise TypeError(
                    f"{self._name}: {key!r} takes a function's name, which another process can "
                    f"import: 'package.module.{key}', got {value!r}. Or give its module_file."
                )
            raise TypeError(
                f"{self._name}: {key!r} takes {getattr(wanted, '__name__', wanted)}, got "
                f"{mask_item(key, value)!r}."
            )
        return value

    def _encode_message(self, key: str, value: Any, wanted: type[Message]) -> str:
        """A message as JSON text, which only the worker decodes again."""
        name = wanted.DESCRIPTOR.name
        if isinstance(value, Message):
            if value.DESCRIPTOR.full_name != wanted.DESCRIPTOR.full_name:
                raise TypeError(f"{self._name}: {key!r} takes {name}, got {value.DESCRIPTOR.name}.")
            return _message_to_json(value)
        if wanted is CustomConfig and isinstance(value, dict):
            return json.dumps(value, sort_keys=True)  # its reader is the user's own executor
        if not isinstance(value, dict | str):
            got = mask_item(key, value)
            raise TypeError(f"{self._name}: {key!r} takes {name} or a dict, got {got!r}.")
        try:
            record = json.loads(value) if isinstance(value, str) else dict(value)
            for field in wanted.DESCRIPTOR.fields:
                if field.is_repeated and isinstance(record.get(field.name), str):
                    record[field.name] = [record[field.name]]
            return _message_to_json(json_format.ParseDict(record, wanted()))
        except (json_format.ParseError, json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"{self._name}: {key!r} is not a {name}: {error}") from error

    def tell_executor(self, values: Mapping[str, Any]) -> None:
        """Add what is for the executor alone, and is no parameter that users give."""
        if values:
            rows = {key: ExecutionParameter(type=type(value)) for key, value in values.items()}
            vars(self)["PARAMETERS"] = {**self.PARAMETERS, **rows}
            self.exec_properties |= values

    @property
    def placeholders(self) -> list[Placeholder]:
        """What stands in the parameters for values that are known only when the step runs."""
        values = self.exec_properties.values()
        holders = [
            value for value in values if isinstance(value, Placeholder | dict | list | tuple)
        ]
        return [one for value in holders for one in placeholders_in(value)]

    def values(self, given: dict[str, Any], facts: Facts | None = None) -> dict[str, Any]:
        """The parameters as plain JSON, with every RuntimeParameter replaced by its value.

        As long as there are no facts, parameters that wait for them are left out. One that waits
        for the execution to begin is its own text until then.
        """
        values = {}
        for key, value in self.exec_properties.items():
            if not placeholders_in(value):
                known = substitute(value, given)
                values[key] = self._encode_late(key, known) if is_open(value) else known
        if facts is not None:
            facts = replace(facts, parameters=self.decode(values))
            for key in self.exec_properties.keys() - values.keys():
                values[key] = self._fill_in(
                    key, substitute(self.exec_properties[key], given), facts
                )
        return values

    def _fill_in(self, key: str, value: Any, facts: Facts) -> Any:
        try:
            known = fill_in(value, facts)
        except NotYet:
            return repr(value)
        if known is None and self.PARAMETERS[key].optional:
            return None
        is_whole = isinstance(value, Placeholder)
        return self._encode(key, known) if is_whole else self._encode_late(key, known)

    @property
    def message_classes(self) -> dict[str, str]:
        """Where the classes of those parameters are that the executor takes as messages."""
        kinds = {key: _message_class(row.type) for key, row in self.PARAMETERS.items()}
        return {
            key: reference_to(kind)
            for key, kind in kinds.items()
            if kind and self.PARAMETERS[key].use_proto
        }

    def decode(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with messages as such, for placeholders to read their fields."""
        kinds = {key: _message_class(self.PARAMETERS[key].type) for key in values}
        return {
            key: parse_message(value, kind()) if (kind := kinds[key]) else value
            for key, value in values.items()
        }

    def _encode_late(self, key: str, value: Any) -> Any:
        """A value that had to wait for its RuntimeParameters."""
        wanted = self.PARAMETERS[key].type
        if message := _message_class(wanted):
            return self._encode_message(key, value, message)
        return json.dumps(value) if wanted is str and not isinstance(value, str) else value


def _is_a(value: Any, wanted: type) -> bool:
    if isinstance(value, bool):
        return wanted in (bool, int, object)
    return isinstance(value, (int, float) if wanted is float else wanted)


def _message_class(wanted: Any) -> type[Message] | None:
    return wanted if isinstance(wanted, type) and issubclass(wanted, Message) else None


def _message_to_json(message: Message) -> str:
    return json_format.MessageToJson(message, sort_keys=True, preserving_proto_field_name=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What can be said against a step before any step has run."""

    text: str
    is_certain: bool = True
    """Whether the step will fail; else the user is told, and the run goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCode:
    """The user's own file or module that a step will load, and what was asked for to run it."""

    module_file: str | None = None
    module: str | None = None
    keras: int | None = None
    python: str | None = None
    """Another interpreter: its path, or the name of an environment."""


class Node:
    """A step of a pipeline: what it reads, what it writes, what it waits for."""

    TYPE_NAME: ClassVar[str | None] = None
    """The execution's type in the store; our own components have TFX's names there."""
    BASE_TYPE: ClassVar[BaseType | None] = None
    """What MLMD calls such steps."""
    has_older_names: bool = False
    """Whether it was given arguments that later editions of TFX dropped."""
    retries: int | None = None
    """How often to start again after a failure; None is once for workers that were lost."""
    timeout_seconds: float | None = None
    """How long each attempt may take; None for any time."""
    within: tuple[str, ...] = ()
    """The names of the pipelines that it is in, other than the one that is run."""

    def __init__(
        self,
        *,
        inputs: dict[str, Channel] | None = None,
        outputs: dict[str, Channel] | None = None,
        instance_name: str | None = None,
    ) -> None:
        kind = type(self).__name__
        self.id = f"{kind}.{instance_name}" if instance_name else kind
        self.inputs = ChannelMap(inputs or {})
        self.outputs = ChannelMap(outputs or {})
        self.waits_for: list[Node] = []
        self.downstream_nodes: list[Node] = []
        """The nodes whose `upstream_nodes` have this one; a Pipeline fills it in."""
        self.conditions = conditions_here()
        self.loops = loops_here()
        self.platform_config: Any = None
        """What orchestrators of TFX's are told about the node; `runtime_info` reads it."""
        self.resources: Resources | None = None
        self._execution_options: Any = None
        check_in_loops((*self.inputs.values(), *self.asked_channels), kind)
        for key, channel in self.outputs.items():
            check_file_name(key, f"The key of an output of {kind}")
            channel.producer, channel.output_key = self, key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}>"

    @property
    def id(self) -> str:
        """The node's name in the pipeline, and that of its folder."""
        return ".".join((*self.within, self._id))

    @id.setter
    def id(self, name: str) -> None:
        self._id = check_file_name(name, f"The id of a {type(self).__name__}")

    @property
    def component_id(self) -> str:
        """An older word for the id."""
        return self.id

    @property
    def type_name(self) -> str:
        """The name of the node's type in the store."""
        return self.TYPE_NAME or f"{type(self).__module__}.{type(self).__qualname__}"

    @property
    def type(self) -> str:
        """The name of the node's type, by TFX's name for that."""
        return self.type_name

    def to_json_dict(self) -> dict[str, Any]:
        """What it is, as plain JSON, but for parameters that are not."""
        return {
            "id": self.id,
            "type": self.type_name,
            "inputs": {key: channel.to_json_dict() for key, channel in self.inputs.items()},
            "outputs": {key: channel.to_json_dict() for key, channel in self.outputs.items()},
            "exec_properties": self.exec_properties,
        }

    @property
    def exec_properties(self) -> dict[str, Any]:
        """The values of the node's parameters, RuntimeParameters among them."""
        return {}

    def with_id(self, id: str) -> Self:
        """Name the node, as a pipeline with two of a kind has to."""
        self.id = id
        return self

    def add_upstream_node(self, node: "Node") -> None:
        """Run this node after `node`, though no data flows between them."""
        self.waits_for.append(node)
        if self not in node.downstream_nodes:
            node.downstream_nodes.append(self)

    def add_upstream_nodes(self, nodes: Iterable["Node"]) -> None:
        """Run this node after all of `nodes`."""
        for node in nodes:
            self.add_upstream_node(node)

    def add_downstream_node(self, node: "Node") -> None:
        """Run `node` after this node."""
        node.add_upstream_node(self)

    def add_downstream_nodes(self, nodes: Iterable["Node"]) -> None:
        """Run all of `nodes` after this node."""
        for node in nodes:
            node.add_upstream_node(self)

    def remove_upstream_node(self, node: "Node") -> None:
        """Do not wait for `node` any more."""
        self.waits_for.remove(node)
        node.downstream_nodes.remove(self)

    def remove_downstream_node(self, node: "Node") -> None:
        """Do not let `node` wait for this node any more."""
        node.remove_upstream_node(self)

    @property
    def node_execution_options(self) -> Any:
        """How TFX's orchestrators run the node; its retries and its time limit count here too."""
        return self._execution_options

    @node_execution_options.setter
    def node_execution_options(self, options: Any) -> None:
        self._execution_options = options
        if options.max_execution_retries is not None:
            self.retries = options.max_execution_retries
        if options.execution_timeout_sec:
            self.timeout_seconds = options.execution_timeout_sec

    def with_node_execution_options(self, node_execution_options: Any) -> Self:
        """Run the node with these options."""
        self.node_execution_options = node_execution_options
        return self

    def with_resources(
        self,
        *,
        cpu: str | float | None = None,
        memory: str | int | None = None,
        gpus: int = 0,
        gpu_type: str | None = None,
        node_selector: Mapping[str, str] = MappingProxyType({}),
    ) -> Self:
        """Ask an orchestrator for a machine that has this: cpu="4", memory="8Gi", gpus=1."""
        self.resources = Resources(
            cpu=cpu,  # type: ignore[arg-type]
            memory=memory,  # type: ignore[arg-type]
            gpus=gpus,
            gpu_type=gpu_type,
            node_selector=dict(node_selector),
        )
        return self

    def with_platform_config(self, config: Any) -> Self:
        """Keep what orchestrators of TFX's are told; here `runtime_info` alone reads it."""
        self.platform_config = config
        return self

    @property
    def asked_channels(self) -> list[Channel]:
        """The channels that are no inputs, and decide whether the node runs, or how often."""
        asked = [one.channels for one in self.conditions] + [one.channels for one in self.loops]
        return [channel for channels in asked for channel in channels]

    @property
    def producers(self) -> list["Node"]:
        """The nodes that this one reads from, or asks about."""
        channels = (*self.inputs.values(), *self.asked_channels)
        parts = (part for channel in channels for part in channel.parts)
        return list(dict.fromkeys(part.producer for part in parts if part.producer))

    @property
    def upstream_nodes(self) -> list["Node"]:
        """The nodes that this one reads from, asks about or waits for."""
        waits_for = [step for node in self.waits_for for step in node.steps]
        return list(dict.fromkeys([*self.producers, *waits_for]))

    @property
    def steps(self) -> "list[Node]":
        """What is run: the node itself, or the steps of a pipeline."""
        return [self]

    def can_do_without(self, node: "Node") -> bool:
        """Whether this node reads of another one only what it may lack."""
        needed = [*self.asked_channels, *self.list_required_channels()]
        makers = [part.producer for channel in needed for part in channel.parts]
        return node not in (*makers, *self.waits_for)

    def list_required_channels(self) -> list[Channel]:
        """The inputs that the node cannot run without."""
        return list(self.inputs.values())


class BaseComponent(Node):
    """A node that runs an executor in a worker."""

    SPEC_CLASS: ClassVar[type[ComponentSpec]]
    EXECUTOR_SPEC: ClassVar[ExecutorClassSpec]
    DRIVER_CLASS: ClassVar[type[BaseDriver]] = BaseDriver
    """What completes the parameters when the step begins; users' own are refused."""
    checks: tuple[str, ...] = ()
    """Executors that see what was written before it is published, in turn; each may refuse it."""
    workers: Workers | None = None
    """The processes that do the step together; None for one that does it alone."""
    PRELOAD: ClassVar[tuple[str, ...]] = ()
    """What a worker imports before it is needed, beyond what the user's code imports."""
    USES_TENSORFLOW: ClassVar[bool] = False
    """Whether the step needs TensorFlow even when the user's code does not name it."""
    WORKS_ON_SHARDS: ClassVar[bool] = False
    """Whether its executor opens a pool for its shards, and may begin again if it is lost."""
    USES_BEAM: ClassVar[bool] = False
    """Whether it may run on Apache Beam, with the flags of the pipeline."""
    PACKAGES: ClassVar[tuple[str, ...]] = ()
    """What the step imports that only an extra of Stoker's installs."""
    RESUMABLE: ClassVar[bool] = False
    """Whether the step can go on from where an earlier run of the same work was stopped."""
    PACE_PARAMETERS: ClassVar[tuple[str, ...]] = ()
    """The parameters that change how fast a resumable step works, and not what it works on."""
    LOG_OUTPUT: ClassVar[str | None] = None
    """The output that keeps the step's log; None leaves it with the runner's own files."""
    enable_cache: bool | None = None
    """Whether it may give what it made before; None for what the pipeline says."""

    def __init__(
        self,
        spec: ComponentSpec,
        custom_executor_spec: ExecutorClassSpec | None = None,
        instance_name: str | None = None,
        enable_cache: bool | None = None,
    ) -> None:
        if not isinstance(spec, self.SPEC_CLASS):
            raise ValueError(
                f"{type(self).__name__} takes a {self.SPEC_CLASS.__name__}, got {spec!r}."
            )
        if not self.DRIVER_CLASS.__module__.startswith("stoker."):
            raise MissingPart(
                f"{type(self).__name__} has the driver {self.DRIVER_CLASS.__name__}, and there are "
                "no drivers here. Put what it does into the executor's Do(), or into a step before."
            )
        executor_spec = custom_executor_spec or self.EXECUTOR_SPEC
        if not isinstance(executor_spec, ExecutorClassSpec):
            raise TypeError(
                f"{type(self).__name__}: custom_executor_spec takes an ExecutorClassSpec, "
                f"got {executor_spec!r}."
            )
        spec.tell_executor(executor_spec.make_parameters(spec))
        self.spec = spec
        self.executor_spec = executor_spec
        self.beam_pipeline_args: list[str] | None = None
        self.enable_cache = enable_cache
        super().__init__(inputs=spec.inputs, outputs=spec.outputs, instance_name=instance_name)
        self.inputs = ChannelMap(self.inputs, older=spec.OLDER_NAMES)
        self.outputs = ChannelMap(self.outputs, older=spec.OLDER_NAMES)

    @property
    def exec_properties(self) -> dict[str, Any]:  # noqa: D102
        return self.spec.exec_properties

    @property
    def uses_beam(self) -> bool:
        """Whether it may run a Beam pipeline: by its class, or by that of its executor."""
        executor = self.executor_spec.executor_class
        is_of_beam = isinstance(executor, type) and issubclass(executor, BaseBeamExecutor)
        return self.USES_BEAM or is_of_beam

    def list_required_channels(self) -> list[Channel]:  # noqa: D102
        return [channel for key, channel in self.inputs.items() if self.needs_input(key)]

    def needs_input(self, key: str) -> bool:
        """Whether the step cannot run without something for this input."""
        return self.spec.INPUTS[key].required and not self.inputs[key].is_optional

    @property
    def asked_channels(self) -> list[Channel]:  # noqa: D102
        channels = (channel for one in self.spec.placeholders for channel in one.channels)
        return [*super().asked_channels, *channels]

    def user_code(self, parameters: dict[str, Any]) -> UserCode | None:  # noqa: ARG002
        """What of the user's the step will load; None if the executor is one of ours."""
        where, _, _ = self.executor_spec.class_path.rpartition(":")
        if where.endswith(".py"):
            return UserCode(module_file=where)
        return None if where.split(".")[0] == "stoker" else UserCode(module=where)

    def find_needed(self, parameters: dict[str, Any], splits: Sequence[str]) -> Needed:  # noqa: ARG002
        """What its own executor reads of examples that have these splits: all, if not known."""
        return Needed()

    def external_files(self, parameters: dict[str, Any]) -> list[str]:  # noqa: ARG002
        """The files from outside the pipeline that the step reads: its result depends on them."""
        return []

    def find_lacks(self) -> Iterable[Problem]:
        """What this machine lacks that the step needs, whatever its inputs are."""
        return self.executor_spec.find_lacks()

    def find_problems(self, parameters: dict[str, Any]) -> Iterable[Problem]:  # noqa: ARG002
        """What files, folders and packages say against the step before any step has run."""
        return ()

    def find_features(self, parameters: dict[str, Any]) -> dict[str, str] | None:  # noqa: ARG002
        """The features of the examples that it will write; None where only its run tells.

        With each a value, if the feature is known to be text, and else nothing.
        """
        return None

    def check_features(
        self,
        parameters: dict[str, Any],  # noqa: ARG002
        known: Mapping[str, str],  # noqa: ARG002
    ) -> Iterable[Problem]:
        """What is to be said against the step if these are the features of its examples."""
        return ()

    def find_undone(self, outputs: ArtifactMap) -> str:  # noqa: ARG002
        """What the step did outside of the pipeline that was undone since, in words.

        `outputs` are those of that time; an empty answer lets them be used again.
        """
        return ""

    def replace_output(self, key: str, channel: Channel) -> None:
        """Let a channel that was made before stand for an output, as early TFX allowed."""
        if channel.producer is not None:
            raise TypeError(
                f"{key!r} is an output of {type(self).__name__}, got one of {channel.producer.id}."
            )
        self.outputs[key] = self.spec.outputs[key] = channel
        channel.producer, channel.output_key = self, key

    def with_retries(self, retries: int) -> Self:
        """Start the step again, up to so many times, when it fails or takes too long."""
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise ValueError(
                f"{self.id}.with_retries(…) takes a whole number from 0 on, got {retries!r}."
            )
        self.retries = retries
        return self

    def with_timeout(self, seconds: float) -> Self:
        """End the step's processes, and fail, when an attempt takes longer than this."""
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            raise ValueError(
                f"{self.id}.with_timeout(…) takes a number of seconds over 0, got {seconds!r}."
            )
        self.timeout_seconds = seconds
        return self

    def with_beam_pipeline_args(self, beam_pipeline_args: list[str]) -> Self:
        """Run this component's Beam pipelines, if it has any, with these flags."""
        self.beam_pipeline_args = list(beam_pipeline_args)
        return self
