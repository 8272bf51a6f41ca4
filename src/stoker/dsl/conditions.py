# SPDX-License-Identifier: Apache-2.0
"""Conditions: steps that run only if what the steps before them published says so.

with Cond(evaluator.outputs["blessing"].future()[0].custom_property("blessed") == 1):
    pusher = Pusher(model=trainer.outputs["model"], push_destination=...)
"""

from contextvars import ContextVar
from typing import Self

from stoker.dsl.placeholders import Predicate, check_predicate
from stoker.dsl.refusals import Declared

__all__ = ["Cond"]

_here: ContextVar[tuple[Predicate, ...]] = ContextVar("_here", default=())


def conditions_here() -> tuple[Predicate, ...]:
    """The conditions of the `with Cond(…)` blocks that we are in."""
    return _here.get()


class Cond(metaclass=Declared):
    """The steps that are made inside `with Cond(predicate):` run only if the predicate holds."""

    def __init__(self, predicate: Predicate) -> None:
        check_predicate(predicate, "Cond")
        self._predicate = predicate

    def __enter__(self) -> Self:
        self._outside = _here.set((*_here.get(), self._predicate))
        return self

    def __exit__(self, *_: object) -> None:
        _here.reset(self._outside)
