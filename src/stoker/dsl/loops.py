# SPDX-License-Identifier: Apache-2.0
"""Loops: steps that run once for each artifact of a channel.

with ForEach(example_gen.outputs["examples"]) as each:
    trainer = Trainer(examples=each, ...)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from stoker.artifacts import Artifact
from stoker.dsl.channel import Channel
from stoker.dsl.placeholders import Published
from stoker.dsl.refusals import Declared

__all__ = ["ForEach"]

Item = Mapping[str, Sequence[Artifact]]
"""What one round of a loop reads, by the keys of the loop."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Loopable:
    """What a loop can go through: artifacts in groups, which are known when the pipeline runs."""

    types: Mapping[str, type[Artifact]]
    channels: tuple[Channel, ...]
    """What it is computed from."""
    list_items: Callable[[Published], Sequence[Item]]
    unwrap: Callable[[dict[str, Channel]], Any] = dict
    """What `as` gives, of the channels of one round by their keys."""

    def __getitem__(self, _: Any) -> NoReturn:
        raise TypeError("This is several inputs: go through them, `with ForEach(…) as each:`.")


class EachChannel(Channel):
    """What one round of a loop reads."""

    def __init__(self, type: type[Artifact], loop: Loopable, key: str) -> None:
        super().__init__(type)
        self.loop = loop
        self.key = key

    def __repr__(self) -> str:
        return f"each {self.type_name} of {', '.join(map(repr, self.loop.channels))}"


_here: ContextVar[tuple[Loopable, ...]] = ContextVar("_here", default=())


def loops_here() -> tuple[Loopable, ...]:
    """What the `with ForEach(…)` blocks go through that we are in, the outermost first."""
    return _here.get()


class ForEach(metaclass=Declared):
    """The steps made inside `with ForEach(channel) as each:` run once for each artifact."""

    def __init__(self, loopable: Channel | Loopable) -> None:
        if not isinstance(loopable, Channel | Loopable):
            raise ValueError(
                "ForEach takes a channel, such as example_gen.outputs['examples'], or what "
                f"sliding_window and the like return, got {loopable!r}."
            )
        self._loopable = _go_through(loopable) if isinstance(loopable, Channel) else loopable

    def __enter__(self) -> Any:
        loop = replace(self._loopable)  # each block is a loop of its own
        self._outside = _here.set((*_here.get(), loop))
        return loop.unwrap({key: EachChannel(kind, loop, key) for key, kind in loop.types.items()})

    def __exit__(self, *_: object) -> None:
        _here.reset(self._outside)


def check_in_loops(channels: Iterable[Channel], who: str) -> None:
    """Refuse a step that reads one round of a loop that it is not in."""
    for part in (part for channel in channels for part in channel.parts):
        if isinstance(part, EachChannel) and part.loop not in loops_here():
            raise ValueError(
                f"{who} reads {part!r} outside of its loop. Make it inside `with ForEach(…):`."
            )


def _go_through(channel: Channel) -> Loopable:
    """The artifacts of a channel, one by one."""
    return Loopable(
        types={"each": channel.type},
        channels=(channel,),
        list_items=lambda published: [{"each": [one]} for one in channel.read(published)],
        unwrap=lambda channels: channels["each"],
    )
