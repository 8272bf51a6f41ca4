# SPDX-License-Identifier: Apache-2.0
"""Placeholders: what has a value only when a pipeline runs, and what can be made of it.

MyStep(table=join_path(channel.future()[0].uri, environment_variable("USER") + ".csv"))
"""

import base64
import enum
import json
import operator
import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeVar, get_args

from google.protobuf import json_format
from google.protobuf.message import Message

from stoker.artifacts import Artifact, ArtifactMap, ValueArtifact, get_split_uri
from stoker.dsl.parameters import names_in

if TYPE_CHECKING:
    from stoker.dsl.channel import Channel

__all__ = ["Placeholder", "Predicate", "logical_and", "logical_not", "logical_or"]

Published = Callable[["Channel"], Sequence[Artifact]]
"""What a run has published for a channel."""
RuntimeInfoKeys = Literal["executor_spec", "platform_config", "pipeline_platform_config"]


class Absent(Exception):
    """A step asks about an artifact that the run does not have."""


class NotYet(Exception):
    """What is asked for is known when the execution has begun: where its outputs go, its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known about a step when its placeholders get their values."""

    published: Published = lambda _: ()
    inputs: ArtifactMap = field(default_factory=dict)
    outputs: ArtifactMap | None = None
    """None as long as the execution has not begun."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    runtime_info: Mapping[str, Any] = field(default_factory=dict)
    invocation: Mapping[str, Any] = field(default_factory=dict)
    """The run and the step, by the names of TFX's ExecutionInvocation."""


class ProtoSerializationFormat(enum.Enum):
    """How a message is written."""

    TEXT_FORMAT = 1
    JSON = 2
    BINARY = 3
    INLINE_FILE_TEXT_FORMAT = 4


class ListSerializationFormat(enum.Enum):
    """How a list is written."""

    JSON = 1
    COMMA_SEPARATED_STR = 2


class Placeholder:
    """A value that is known only when the pipeline runs.

    Items, fields of messages, sums and comparisons of it are placeholders too.
    """

    def __init__(
        self, text: str, compute: Callable[[Facts], Any], channels: "Iterable[Channel]" = ()
    ) -> None:
        self.text = text
        self.channels = tuple(channels)
        self._compute = compute

    def value_in(self, facts: Facts) -> Any:
        """What it is, now that this is known."""
        return self._compute(facts)

    def __repr__(self) -> str:
        return self.text

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self.text} is known only when the pipeline runs. Give it to `with Cond(…):`, and "
            "combine conditions with logical_and, logical_or and logical_not."
        )

    def __deepcopy__(self, _: Any) -> Self:
        return self  # it never changes, and its channels must stay the pipeline's

    def __getitem__(self, key: int | str) -> "Placeholder":
        """One item of a list, of a JSON value or of a message's map."""
        return self._append(f"[{key!r}]", lambda whole: _get_item(self.text, whole, key))

    def __getattr__(self, name: str) -> "Placeholder":
        """One field of a message."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._append(f".{name}", lambda whole: _get_field(self.text, whole, name))

    def __add__(self, right: Any) -> "Placeholder":
        return _combine(Placeholder, f"{self} + {right!r}", [self, right], _concatenate)

    def __radd__(self, left: Any) -> "Placeholder":
        return _combine(Placeholder, f"{left!r} + {self}", [left, self], _concatenate)

    def __eq__(self, other: object) -> "Predicate":  # type: ignore[override]
        return _compare(self, "==", operator.eq, other)

    def __ne__(self, other: object) -> "Predicate":  # type: ignore[override]
        return _compare(self, "!=", operator.ne, other)

    def __lt__(self, other: object) -> "Predicate":
        return _compare(self, "<", operator.lt, other)

    def __le__(self, other: object) -> "Predicate":
        return _compare(self, "<=", operator.le, other)

    def __gt__(self, other: object) -> "Predicate":
        return _compare(self, ">", operator.gt, other)

    def __ge__(self, other: object) -> "Predicate":
        return _compare(self, ">=", operator.ge, other)

    __hash__ = None  # type: ignore[assignment]
    __iter__ = None  # with __getitem__ alone, Python would count up forever

    def b64encode(self, url_safe: bool = True) -> "Placeholder":
        """The value in Base64, with the letters that URLs may have."""
        encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
        return self._append(
            ".b64encode()",
            lambda value: encode(value if isinstance(value, bytes) else str(value).encode()).decode(
                "ascii"
            ),
        )

    def serialize(self, serialization_format: ProtoSerializationFormat) -> "Placeholder":
        """The message as text, JSON or bytes."""
        return self._append(
            f".serialize({serialization_format.name})",
            lambda value: _serialize(self.text, value, serialization_format),
        )

    def serialize_list(self, serialization_format: ListSerializationFormat) -> "Placeholder":
        """The list as JSON, or as values with commas between them."""
        return self._append(
            f".serialize_list({serialization_format.name})",
            lambda value: _serialize_list(self.text, value, serialization_format),
        )

    def _append(self, text: str, read: Callable[[Any], Any]) -> "Placeholder":
        return Placeholder(
            self.text + text, lambda facts: read(self.value_in(facts)), self.channels
        )


_P = TypeVar("_P", bound=Placeholder)


class Predicate(Placeholder):
    """A question with the answer yes or no."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class ListPlaceholder(Placeholder):
    """A list, some items of which are known only when the pipeline runs."""

    def __add__(self, right: Any) -> "ListPlaceholder":
        return _combine(ListPlaceholder, f"{self} + {right!r}", [self, right], _join_lists)

    def __radd__(self, left: Any) -> "ListPlaceholder":
        return _combine(ListPlaceholder, f"{left!r} + {self}", [left, self], _join_lists)


class DictPlaceholder(Placeholder):
    """A dict, some entries of which are known only when the pipeline runs."""


class ArtifactPlaceholder(Placeholder):
    """Artifacts of a channel, or of an input or output of the step itself.

    Where no index says which one is meant, it is the first.
    """

    def __init__(
        self,
        text: str,
        compute: Callable[[Facts], Any],
        channels: "Iterable[Channel]" = (),
        type_name: str = "artifact",
    ) -> None:
        super().__init__(text, compute, channels)
        self._type_name = type_name

    def __getitem__(self, index: int | str) -> "ArtifactPlaceholder":
        """One of the artifacts."""

        def compute(facts: Facts) -> Any:
            found = self.value_in(facts)
            if not found:
                raise Absent(f"there is no {self._type_name} in {self.text}")
            return _get_item(self.text, found, index)

        return ArtifactPlaceholder(
            f"{self.text}[{index!r}]", compute, self.channels, self._type_name
        )

    @property
    def uri(self) -> Placeholder:
        """Where the artifact's files are."""
        return self._ask(".uri", lambda artifact: artifact.uri)

    def split_uri(self, split: str) -> Placeholder:
        """Where the files of one split are."""
        return self._ask(
            f".split_uri({split!r})", lambda artifact: get_split_uri([artifact], split)
        )

    @property
    def value(self) -> Placeholder:
        """What a value artifact, such as an Integer, holds."""
        return self._ask(".value", lambda artifact: _read_value(self.text, artifact))

    def property(self, key: str) -> Placeholder:
        """A property that the artifact's type declares, such as `span`."""
        return self._ask(
            f".property({key!r})",
            lambda artifact: _get_property(self.text, artifact.properties, key),
        )

    def custom_property(self, key: str) -> Placeholder:
        """A property that a step has set, such as `blessed`."""
        return self._ask(
            f".custom_property({key!r})",
            lambda artifact: _get_property(self.text, artifact.custom_properties, key),
        )

    def _ask(self, text: str, read: Callable[[Artifact], Any]) -> Placeholder:
        def compute(facts: Facts) -> Any:
            found = self.value_in(facts)
            if isinstance(found, Artifact):
                return read(found)
            if not found:
                raise Absent(f"there is no {self._type_name} in {self.text}")
            return read(found[0])

        return Placeholder(self.text + text, compute, self.channels)


class _Invocation(Placeholder):
    """The execution itself: some of it is known only when it has begun."""

    def __getattr__(self, name: str) -> Placeholder:
        if name.startswith("_"):
            return super().__getattr__(name)

        def compute(facts: Facts) -> Any:
            if name not in facts.invocation and facts.outputs is None:
                raise NotYet(f"{self.text}.{name}")
            return _get_field(self.text, facts.invocation, name)

        return Placeholder(f"{self.text}.{name}", compute)


def input(key: str) -> ArtifactPlaceholder:
    """The artifacts of an input of the step itself."""
    return ArtifactPlaceholder(
        f"input({key!r})", lambda facts: _get_artifacts("input", facts.inputs, key)
    )


def output(key: str) -> ArtifactPlaceholder:
    """The artifacts of an output of the step itself."""

    def compute(facts: Facts) -> list[Artifact]:
        if facts.outputs is None:
            raise NotYet(f"output({key!r})")
        return _get_artifacts("output", facts.outputs, key)

    return ArtifactPlaceholder(f"output({key!r})", compute)


def exec_property(key: str) -> Placeholder:
    """Another parameter of the step itself."""

    def compute(facts: Facts) -> Any:
        if key not in facts.parameters:
            known = ", ".join(sorted(facts.parameters)) or "none"
            raise ValueError(
                f"exec_property({key!r}): there is no such parameter; there is {known}"
            )
        return facts.parameters[key]

    return Placeholder(f"exec_property({key!r})", compute)


def runtime_info(key: RuntimeInfoKeys) -> Placeholder:
    """What was said about how the step, or the pipeline, is to be run."""
    if key not in get_args(RuntimeInfoKeys):
        known = ", ".join(get_args(RuntimeInfoKeys))
        raise ValueError(f"runtime_info takes {known}, got {key!r}.")
    return Placeholder(f"runtime_info({key!r})", lambda facts: facts.runtime_info.get(key))


def execution_invocation() -> Placeholder:
    """The execution itself: `.pipeline_run_id`, `.execution_id`, `.tmp_dir` and the like."""
    return _Invocation("execution_invocation()", lambda facts: facts.invocation)


def environment_variable(key: str) -> Placeholder:
    """A variable of the environment that the pipeline is run in."""

    def compute(_: Facts) -> str:
        if key not in os.environ:
            raise ValueError(f"the environment variable {key} is not set: set it before the run")
        return os.environ[key]

    return Placeholder(f"environment_variable({key!r})", compute)


def join(placeholders: Sequence[Any], separator: str = "") -> Any:
    """Placeholders and strings in a row, with a separator between them."""

    def add(left: Any, right: Any) -> Any:
        return left + separator + right if separator else left + right

    return reduce(add, placeholders) if placeholders else ""


def join_path(*args: Any) -> Placeholder:
    """`os.path.join` of placeholders and strings."""
    text = f"join_path({', '.join(map(repr, args))})"
    return _combine(Placeholder, text, args, lambda parts: os.path.join(*map(_to_text, parts)))


def make_list(input_placeholders: Sequence[Any]) -> ListPlaceholder:
    """A list of placeholders and values."""
    return _combine(ListPlaceholder, f"{list(input_placeholders)}", input_placeholders, list)


def make_dict(entries: Mapping[str, Any] | Sequence[tuple[Any, Any]]) -> DictPlaceholder:
    """A dict of placeholders and values; entries that turn out to be None are left out.

    Given as pairs, the keys may be placeholders as well.
    """
    pairs = list(entries.items() if isinstance(entries, Mapping) else entries)
    text = f"{{{', '.join(f'{key!r}: {value!r}' for key, value in pairs)}}}"
    return _combine(
        DictPlaceholder,
        text,
        pairs,
        lambda found: {key: value for key, value in found if value is not None},
    )


def make_proto(base_message: Message, **kwargs: Any) -> Placeholder:
    """A message like `base_message`, with these fields set on top of it."""
    name = base_message.DESCRIPTOR.full_name
    known = base_message.DESCRIPTOR.fields_by_name
    if unknown := sorted(set(kwargs) - set(known)):
        raise ValueError(f"{name} has no field {unknown[0]!r}; it has {', '.join(known)}.")
    bytes_fields = {key for key, row in known.items() if row.type == row.TYPE_BYTES}
    map_fields = {key for key, row in known.items() if _is_map(row)}

    def make(fields: Mapping[str, Any]) -> Message:
        given = {key: value for key, value in fields.items() if value is not None}
        for key in map_fields & set(given):
            given[key] = dict(given[key])
        for key in bytes_fields & set(given):
            given[key] = _to_bytes(given[key])
        message = type(base_message)()
        message.CopyFrom(base_message)
        message.MergeFrom(type(base_message)(**given))
        return message

    text = ", ".join([f"{name}()", *(f"{key}={value!r}" for key, value in kwargs.items())])
    return _combine(Placeholder, f"make_proto({text})", kwargs, make)


def logical_and(left: Predicate, right: Predicate) -> Predicate:
    """Whether both hold."""
    return _join_predicates("and", all, left, right)


def logical_or(left: Predicate, right: Predicate) -> Predicate:
    """Whether one of the two holds, or both."""
    return _join_predicates("or", any, left, right)


def logical_not(predicate: Predicate) -> Predicate:
    """Whether it does not hold."""
    check_predicate(predicate, "logical_not")
    return Predicate(
        f"not ({predicate})", lambda facts: not predicate.value_in(facts), predicate.channels
    )


def check_predicate(predicate: object, name: str) -> None:
    """Refuse what is not a question."""
    if not isinstance(predicate, Predicate):
        raise TypeError(
            f"{name} takes a comparison, such as "
            f"channel.future()[0].custom_property('blessed') == 1, got {predicate!r}."
        )


def placeholders_in(value: Any) -> list[Placeholder]:
    """The placeholders in a value, however deep."""
    match value:
        case Placeholder():
            return [value]
        case dict():
            return [one for inner in value.values() for one in placeholders_in(inner)]
        case list() | tuple():
            return [one for inner in value for one in placeholders_in(inner)]
    return []


def is_open(value: Any) -> bool:
    """Whether something in a value, however deep, is known only when the pipeline runs."""
    return bool(names_in(value) or placeholders_in(value))


def fill_in(value: Any, facts: Facts) -> Any:
    """`value` with every placeholder in it, however deep, replaced by its value."""
    match value:
        case Placeholder():
            return _to_plain(value.text, value.value_in(facts))
        case dict():
            return {key: fill_in(inner, facts) for key, inner in value.items()}
        case list() | tuple():
            return [fill_in(inner, facts) for inner in value]
    return value


def _combine(kind: type[_P], text: str, parts: Any, make: Callable[[Any], Any]) -> _P:
    """A placeholder that is made of others, and of plain values."""
    parts = list(parts) if isinstance(parts, tuple) else parts
    channels = dict.fromkeys(one for part in placeholders_in(parts) for one in part.channels)
    return kind(text, lambda facts: make(fill_in(parts, facts)), channels)


def _compare(
    left: Placeholder, sign: str, compare: Callable[[Any, Any], Any], right: Any
) -> Predicate:
    return _combine(
        Predicate, f"{left} {sign} {right!r}", [left, right], lambda both: bool(compare(*both))
    )


def _join_predicates(
    word: str, enough: Callable[[Any], bool], left: Predicate, right: Predicate
) -> Predicate:
    for one in (left, right):
        check_predicate(one, f"logical_{word}")
    return Predicate(
        f"({left}) {word} ({right})",
        lambda facts: enough(one.value_in(facts) for one in (left, right)),
        dict.fromkeys((*left.channels, *right.channels)),
    )


def _concatenate(parts: list[Any]) -> str:
    return "".join(map(_to_text, parts))


def _join_lists(parts: list[Any]) -> list[Any]:
    return [item for part in parts for item in part]


def _to_text(part: Any) -> str:
    if part is None:
        raise ValueError("a part of a text is None, and has to be a value")
    return str(part)


def _to_bytes(value: Any) -> Any:
    match value:
        case str():
            return value.encode()
        case list():
            return [_to_bytes(one) for one in value]
    return value


def _to_plain(text: str, value: Any) -> Any:
    """What JSON can say, or a message."""
    match value:
        case Artifact():
            raise ValueError(f"{text} is an artifact: ask for its .uri, .value or .property(…)")
        case [Artifact(), *_]:
            raise ValueError(f"{text} is a list of artifacts: ask for one's .uri or .value")
        case MutableMapping() if not isinstance(value, dict):  # a message's map
            return dict(value)
        case MutableSequence() if not isinstance(value, list):  # a message's repeated field
            return list(value)
    return value


def _get_item(text: str, whole: Any, key: int | str) -> Any:
    try:
        return whole[key]
    except (LookupError, TypeError) as error:
        raise ValueError(f"{text} has no item {key!r}; it is {whole!r}.") from error


def _get_field(text: str, whole: Any, name: str) -> Any:
    try:
        return whole[name] if isinstance(whole, Mapping) else getattr(whole, name)
    except (KeyError, AttributeError) as error:
        raise ValueError(f"{text} has no field {name!r}; it is {whole!r}.") from error


def _get_artifacts(kind: str, artifacts: ArtifactMap, key: str) -> list[Artifact]:
    if key not in artifacts:
        known = ", ".join(artifacts) or "none"
        raise ValueError(f"{kind}({key!r}): the step has no such {kind}; it has {known}")
    return artifacts[key]


def _read_value(text: str, artifact: Artifact) -> Any:
    if not isinstance(artifact, ValueArtifact):
        raise ValueError(
            f"{text} is a {artifact.type_name}, without a value: ask for its .uri or .property(…)"
        )
    return artifact.read()


def _get_property(text: str, properties: Mapping[str, Any], name: str) -> Any:
    if name not in properties:
        known = ", ".join(sorted(properties)) or "none"
        raise ValueError(f"{text} has no property {name!r}; it has {known}.")
    return properties[name]


def _serialize(text: str, value: Any, wanted: ProtoSerializationFormat) -> str | bytes:
    if not isinstance(value, Message):
        raise ValueError(f"{text} takes a message to serialize, got {value!r}.")
    from google.protobuf import text_format  # of no use to those who only declare

    match wanted:
        case ProtoSerializationFormat.JSON:
            return json_format.MessageToJson(
                value, sort_keys=True, preserving_proto_field_name=True
            )
        case ProtoSerializationFormat.TEXT_FORMAT:
            return text_format.MessageToString(value)
        case ProtoSerializationFormat.BINARY:
            return value.SerializeToString()
    raise ValueError(f"{text}: use TEXT_FORMAT; there are no inline files here.")


def _serialize_list(text: str, value: Any, wanted: ListSerializationFormat) -> str:
    if not isinstance(value, list | MutableSequence):
        raise ValueError(f"{text} takes a list, got {value!r}.")
    if wanted is ListSerializationFormat.JSON:
        return json.dumps(list(value))
    return ",".join(f'"{one}"' if isinstance(one, str) else str(one) for one in value)


def _is_map(row: Any) -> bool:
    return bool(row.message_type and row.message_type.GetOptions().map_entry)
