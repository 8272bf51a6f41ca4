# SPDX-License-Identifier: Apache-2.0
"""Resolver functions: which of a channel's artifacts a step reads, decided when it runs.

trainer = Trainer(examples=rolling_range(example_gen.outputs["examples"], num_spans=3), ...)

A function's operators are not applied when it is called, but noted; the channel that it returns
applies them when a step reads it. `resolver_functions.py` has those that TFX offers.
"""

import abc
import contextlib
import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

from stoker.artifacts import Artifact
from stoker.dsl.channel import Channel
from stoker.dsl.loops import Loopable
from stoker.dsl.placeholders import Published

Types = type[Artifact] | Mapping[str, type[Artifact]]
_UNSET = object()


class DataType(enum.IntEnum):
    """What operators take and return."""

    ARTIFACT_LIST = 1
    ARTIFACT_MULTIMAP = 2
    ARTIFACT_MULTIMAP_LIST = 3


class ChoiceNode(abc.ABC):
    """A choice of artifacts that is made when a step runs."""

    output_data_type: DataType

    @property
    @abc.abstractmethod
    def channels(self) -> tuple[Channel, ...]:
        """What it is chosen from."""

    @abc.abstractmethod
    def choose(self, published: Published) -> Any:
        """What it is, now that the run has published something."""


@dataclass(frozen=True, eq=False)
class InputNode(ChoiceNode):
    """All artifacts of a channel."""

    wrapped: Channel
    output_data_type = DataType.ARTIFACT_LIST

    @property
    def channels(self) -> tuple[Channel, ...]:  # noqa: D102
        return (self.wrapped,)

    def choose(self, published: Published) -> list[Artifact]:  # noqa: D102
        return self.wrapped.read(published)


@dataclass(frozen=True, eq=False)
class DictNode(ChoiceNode):
    """Artifacts by key."""

    nodes: Mapping[str, ChoiceNode]
    output_data_type = DataType.ARTIFACT_MULTIMAP

    @property
    def channels(self) -> tuple[Channel, ...]:  # noqa: D102
        return tuple(one for node in self.nodes.values() for one in node.channels)

    def choose(self, published: Published) -> dict[str, list[Artifact]]:  # noqa: D102
        return {key: node.choose(published) for key, node in self.nodes.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class OpNode(ChoiceNode):
    """What an operator makes of other nodes."""

    op_type: "type[ResolverOp]"
    args: Sequence[ChoiceNode] = ()
    kwargs: Mapping[str, Any]

    @property
    def output_data_type(self) -> DataType:  # type: ignore[override]
        """What the operator returns."""
        return self.op_type.return_data_type

    @property
    def channels(self) -> tuple[Channel, ...]:  # noqa: D102
        return tuple(one for node in self.args for one in node.channels)

    def choose(self, published: Published) -> Any:  # noqa: D102
        operator = self.op_type.create(**self.kwargs)
        return operator.apply(*(node.choose(published) for node in self.args))


class Property:
    """A property of an operator, which is given by keyword: `n = Property(type=int, default=1)`."""

    def __init__(self, *, type: Any, default: Any = _UNSET) -> None:
        self.type = type
        self._default = default
        self._name = ""

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self._default is _UNSET

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, operator: Any, _: Any = None) -> Any:
        return self if operator is None else operator.__dict__.get(self._name, self._default)

    def __set__(self, operator: Any, value: Any) -> None:
        operator.__dict__[self._name] = value


class ResolverOp(abc.ABC):
    """One decision of a resolver function; subclasses define `apply`.

    class Newest(ResolverOp, arg_data_types=(DataType.ARTIFACT_LIST,),
                 return_data_type=DataType.ARTIFACT_LIST):
        n = Property(type=int, default=1)

        def apply(self, artifacts):
            return sorted(artifacts, key=lambda one: one.id)[-self.n:]

    In a resolver function, `Newest(artifacts, n=2)` notes that it is to be applied.
    """

    arg_data_types: ClassVar[Sequence[DataType]] = (DataType.ARTIFACT_MULTIMAP,)
    return_data_type: ClassVar[DataType] = DataType.ARTIFACT_MULTIMAP

    def __init_subclass__(
        cls,
        *,
        canonical_name: str = "",
        arg_data_types: Sequence[DataType] = (DataType.ARTIFACT_MULTIMAP,),
        return_data_type: DataType = DataType.ARTIFACT_MULTIMAP,
    ) -> None:
        super().__init_subclass__()
        cls.arg_data_types = arg_data_types
        cls.return_data_type = return_data_type

    def __new__(cls, *args: Any, **kwargs: Any) -> OpNode:  # type: ignore[misc]
        """Note that the operator is to be applied to these nodes."""
        nodes = [DictNode(one) if isinstance(one, Mapping) else one for one in args]
        if not all(isinstance(one, ChoiceNode) for one in nodes) or len(nodes) != len(
            cls.arg_data_types
        ):
            raise ValueError(
                f"{cls.__name__} takes {len(cls.arg_data_types)} of what a resolver function is "
                f"given, or another operator returns, got {args!r}."
            )
        for node, wanted in zip(nodes, cls.arg_data_types, strict=True):
            if node.output_data_type != wanted:
                raise TypeError(
                    f"{cls.__name__} takes {wanted.name}, got {node.output_data_type.name}."
                )
        cls._check(kwargs)
        return OpNode(op_type=cls, args=nodes, kwargs=kwargs)

    @classmethod
    def create(cls, **properties: Any) -> "ResolverOp":
        """The operator itself, with these properties."""
        cls._check(properties)
        operator = object.__new__(cls)
        for name, value in properties.items():
            setattr(operator, name, value)
        return operator

    @classmethod
    def _check(cls, given: Mapping[str, Any]) -> None:
        known = {
            name: one
            for kind in reversed(cls.__mro__)
            for name, one in vars(kind).items()
            if isinstance(one, Property)
        }
        if unknown := sorted(set(given) - set(known)):
            raise KeyError(f"{cls.__name__} has no property {unknown[0]!r}; it has {list(known)}")
        missing = [name for name, one in known.items() if one.required and name not in given]
        if missing:
            raise ValueError(f"{cls.__name__} needs a value for {missing[0]!r}.")

    @abc.abstractmethod
    def apply(self, *args: Any) -> Any:
        """What the operator makes of artifacts."""


class ResolvedChannel(Channel):
    """The artifacts that a resolver function chooses."""

    def __init__(self, type: type[Artifact], node: ChoiceNode, key: str | None, name: str) -> None:
        super().__init__(type)
        self._node = node
        self._key = key
        self._name = name

    def __repr__(self) -> str:
        return f"{self._name}({', '.join(map(repr, self._node.channels))})"

    @property
    def parts(self) -> Sequence[Channel]:  # noqa: D102
        return [part for channel in self._node.channels for part in channel.parts]

    def read(self, published: Published) -> list[Artifact]:  # noqa: D102
        chosen = self._node.choose(published)
        return list(chosen if self._key is None else chosen.get(self._key, []))


class ResolverFunction:
    """A function of operators: called with channels, it returns a channel, or several."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        output_type: Types | None = None,
        unwrap: Callable[[dict[str, Channel]], Any] = dict,
    ) -> None:
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self._output_type = output_type
        self._infer = _infer_type
        self._unwrap = unwrap

    def output_type_inferrer(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Let `function` say, of the same arguments, of which type the artifacts are."""
        self._infer = function
        return function

    @contextlib.contextmanager
    def given_output_type(self, output_type: Types) -> "Iterator[ResolverFunction]":
        """Say of which type the artifacts are."""
        before, self._output_type = self._output_type, output_type
        try:
            yield self
        finally:
            self._output_type = before

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function chooses of these channels: a channel, channels by key, or a loop."""
        kinds = self._output_type or self._infer(*args, **kwargs)
        if kinds is None:
            raise ValueError(
                f"{self.__name__}: the type of what it chooses is not known. Say it: "
                f"@resolver_function(output_type=…)."
            )
        node = self.trace(
            *map(_to_node, args), **{key: _to_node(value) for key, value in kwargs.items()}
        )
        if node.output_data_type == DataType.ARTIFACT_LIST:
            return ResolvedChannel(self._take_one(kinds), node, None, self.__name__)
        if not isinstance(kinds, Mapping):
            raise ValueError(
                f"{self.__name__} chooses by key: its types are by key, got {kinds!r}."
            )
        if node.output_data_type == DataType.ARTIFACT_MULTIMAP:
            return {
                key: ResolvedChannel(kind, node, key, self.__name__) for key, kind in kinds.items()
            }
        return Loopable(
            types=kinds, channels=node.channels, list_items=node.choose, unwrap=self._unwrap
        )

    def trace(self, *args: Any, **kwargs: Any) -> ChoiceNode:
        """The operators of the function, noted."""
        made = self.__wrapped__(*args, **kwargs)
        node = DictNode(made) if isinstance(made, Mapping) else made
        if not isinstance(node, ChoiceNode):
            raise ValueError(
                f"{self.__name__} returns {made!r}; a resolver function should return what an "
                "operator does, or a dict of that."
            )
        return node

    def _take_one(self, kinds: Types) -> type[Artifact]:
        if isinstance(kinds, Mapping):
            raise ValueError(f"{self.__name__} chooses one list: its type is one, got {kinds!r}.")
        return kinds


def _infer_type(*args: Any, **_: Any) -> Types | None:
    """The type of the first channel, or of those by key."""
    match args:
        case (Channel() as channel, *_):
            return channel.type
        case (dict() as channels, *_):
            return {key: channel.type for key, channel in channels.items()}
    return None


def _to_node(value: Any) -> Any:
    match value:
        case Channel():
            return InputNode(value)
        case dict() if value and all(isinstance(one, Channel) for one in value.values()):
            return DictNode({key: InputNode(channel) for key, channel in value.items()})
    return value


@overload
def resolver_function(f: Callable[..., Any], /) -> ResolverFunction: ...
@overload
def resolver_function(
    *, output_type: Types | None = None, unwrap_dict_key: str | Sequence[str] | None = None
) -> Callable[[Callable[..., Any]], ResolverFunction]: ...
def resolver_function(
    f: Callable[..., Any] | None = None,
    /,
    *,
    output_type: Types | None = None,
    unwrap_dict_key: str | Sequence[str] | None = None,
) -> ResolverFunction | Callable[[Callable[..., Any]], ResolverFunction]:
    """Make a resolver function of a function of operators.

    Where it returns several inputs to go through, `unwrap_dict_key` is what `with ForEach(…) as`
    gives of each: one channel, or a tuple of them.
    """
    if f is not None:
        return ResolverFunction(f)

    def unwrap(channels: dict[str, Channel]) -> Any:
        if isinstance(unwrap_dict_key, str):
            return channels[unwrap_dict_key]
        return tuple(channels[key] for key in unwrap_dict_key) if unwrap_dict_key else channels

    return lambda function: ResolverFunction(function, output_type=output_type, unwrap=unwrap)
