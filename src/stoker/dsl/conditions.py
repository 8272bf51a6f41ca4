# SPDX-License-Identifier: Apache-2.0
"""Conditions: steps that run only if what the steps before them published says so.

with Cond(evaluator.outputs["blessing"].future()[0].custom_property("blessed") == 1):
    pusher = Pusher(model=trainer.outputs["model"], push_destination=...)
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

from stoker.artifacts import Artifact, ValueArtifact

if TYPE_CHECKING:
    from stoker.dsl.channel import Channel

__all__ = [
    "Absent",
    "Cond",
    "Placeholder",
    "Predicate",
    "Published",
    "conditions_here",
    "logical_and",
    "logical_not",
    "logical_or",
]

Published = Callable[["Channel"], Sequence[Artifact]]
"""What a run has published for a channel."""


class Absent(Exception):
    """A condition asks about an artifact that the run does not have."""


class _LaterValue:
    """What has a value only when the pipeline runs."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self.text} is known only when the pipeline runs. Give it to `with Cond(…):`, and "
            "combine conditions with logical_and, logical_or and logical_not."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Predicate(_LaterValue):
    """A question about published artifacts, with the answer yes or no."""

    text: str
    channels: "tuple[Channel, ...]"
    holds: Callable[[Published], bool]


@dataclass(frozen=True, eq=False, repr=False)
class Placeholder(_LaterValue):
    """Something that published artifacts will say: a URI, a value, a property."""

    text: str
    channel: "Channel"
    read: Callable[[Sequence[Artifact]], Any]

    def value_in(self, published: Published) -> Any:
        """What it is, now that the run has published something."""
        return self.read(list(published(self.channel)))

    def __getitem__(self, key: int | str) -> "Placeholder":
        """One artifact of the channel, or one item of a JSON value."""
        return self._then(f"[{key!r}]", lambda whole: self._item(whole, key))

    @property
    def uri(self) -> "Placeholder":
        """Where the artifact's files are."""
        return self._then(".uri", lambda found: self._artifact(found).uri)

    @property
    def value(self) -> "Placeholder":
        """What a value artifact, such as an Integer, holds."""
        return self._then(".value", lambda found: self._value(self._artifact(found)))

    def property(self, name: str) -> "Placeholder":
        """A property that the artifact's type declares, such as `span`."""
        return self._then(
            f".property({name!r})",
            lambda found: self._look_up(self._artifact(found).properties, name),
        )

    def custom_property(self, name: str) -> "Placeholder":
        """A property that a step has set, such as `blessed`."""
        return self._then(
            f".custom_property({name!r})",
            lambda found: self._look_up(self._artifact(found).custom_properties, name),
        )

    def __eq__(self, other: object) -> Predicate:  # type: ignore[override]
        return _compare(self, "==", operator.eq, other)

    def __ne__(self, other: object) -> Predicate:  # type: ignore[override]
        return _compare(self, "!=", operator.ne, other)

    def __lt__(self, other: object) -> Predicate:
        return _compare(self, "<", operator.lt, other)

    def __le__(self, other: object) -> Predicate:
        return _compare(self, "<=", operator.le, other)

    def __gt__(self, other: object) -> Predicate:
        return _compare(self, ">", operator.gt, other)

    def __ge__(self, other: object) -> Predicate:
        return _compare(self, ">=", operator.ge, other)

    __hash__ = None  # type: ignore[assignment]
    __iter__ = None  # with __getitem__ alone, Python would count up forever

    def _then(self, text: str, read: Callable[[Any], Any]) -> "Placeholder":
        return Placeholder(self.text + text, self.channel, lambda found: read(self.read(found)))

    def _artifact(self, found: Any) -> Artifact:
        """The artifact meant: the first, where no index says which."""
        one = self._item(found, 0) if isinstance(found, list) else found
        if not isinstance(one, Artifact):
            raise ValueError(f"{self.text} is {one!r}, which is not an artifact.")
        return one

    def _item(self, whole: Any, key: int | str) -> Any:
        try:
            return whole[key]
        except (LookupError, TypeError) as error:
            if whole == []:
                raise Absent(f"there is no {self.channel.type_name} in {self.text}") from None
            raise ValueError(f"{self.text} has no item {key!r}; it is {whole!r}.") from error

    def _value(self, artifact: Artifact) -> Any:
        if not isinstance(artifact, ValueArtifact):
            raise ValueError(f"{self.text} is a {artifact.type_name}, which has no value.")
        return artifact.read()

    def _look_up(self, properties: Mapping[str, Any], name: str) -> Any:
        if name not in properties:
            known = ", ".join(sorted(properties)) or "none"
            raise ValueError(f"{self.text} has no property {name!r}; it has {known}.")
        return properties[name]


def _compare(
    left: Placeholder, sign: str, compare: Callable[[Any, Any], Any], right: Any
) -> Predicate:
    both = isinstance(right, Placeholder)

    def holds(published: Published) -> bool:
        other = right.value_in(published) if both else right
        return bool(compare(left.value_in(published), other))

    channels = (left.channel, right.channel) if both else (left.channel,)
    return Predicate(f"{left.text} {sign} {right!r}", channels, holds)


def logical_and(left: Predicate, right: Predicate) -> Predicate:
    """Whether both hold."""
    return _join("and", all, left, right)


def logical_or(left: Predicate, right: Predicate) -> Predicate:
    """Whether one of the two holds, or both."""
    return _join("or", any, left, right)


def logical_not(predicate: Predicate) -> Predicate:
    """Whether it does not hold."""
    _check(predicate, "logical_not")
    return Predicate(
        f"not ({predicate.text})",
        predicate.channels,
        lambda published: not predicate.holds(published),
    )


def _join(word: str, enough: Callable[[Any], bool], left: Predicate, right: Predicate) -> Predicate:
    for one in (left, right):
        _check(one, f"logical_{word}")
    return Predicate(
        f"({left.text}) {word} ({right.text})",
        (*left.channels, *right.channels),
        lambda published: enough(one.holds(published) for one in (left, right)),
    )


def _check(predicate: object, name: str) -> None:
    if not isinstance(predicate, Predicate):
        raise TypeError(
            f"{name} takes a comparison, such as "
            f"channel.future()[0].custom_property('blessed') == 1, got {predicate!r}."
        )


_here: ContextVar[tuple[Predicate, ...]] = ContextVar("_here", default=())


def conditions_here() -> tuple[Predicate, ...]:
    """The conditions of the `with Cond(…)` blocks that we are in."""
    return _here.get()


class Cond:
    """The steps that are made inside `with Cond(predicate):` run only if the predicate holds."""

    def __init__(self, predicate: Predicate) -> None:
        _check(predicate, "Cond")
        self._predicate = predicate

    def __enter__(self) -> Self:
        self._outside = _here.set((*_here.get(), self._predicate))
        return self

    def __exit__(self, *_: object) -> None:
        _here.reset(self._outside)
