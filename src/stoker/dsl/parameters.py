# SPDX-License-Identifier: Apache-2.0
"""Parameters whose values are given when a pipeline runs, not when it is written."""

import json
from collections.abc import Mapping
from typing import Any

from stoker.metadata.masking import mask_item

__all__ = ["RuntimeParameter", "names_in", "substitute"]

_TYPES = (int, float, bool, str)


class RuntimeParameter:
    """A value that is filled in when the pipeline runs: by the caller, or else by its default."""

    def __init__(
        self,
        name: str,
        ptype: type | None = None,
        default: int | float | bool | str | None = None,
        description: str | None = None,
    ) -> None:
        if ptype not in (None, *_TYPES):
            raise ValueError(
                f"RuntimeParameter {name!r}: ptype must be int, float, bool or str, got {ptype!r}."
            )
        if ptype and default is not None and not _fits(default, ptype):
            raise TypeError(
                f"RuntimeParameter {name!r}: the default {mask_item(name, default)!r} should be of "
                f"type {ptype.__name__}."
            )
        self.name = name
        self.ptype = ptype
        self.default = default
        self.description = description

    def __repr__(self) -> str:
        ptype = self.ptype and self.ptype.__name__
        return json.dumps({"RuntimeParameter": self.name, "type": ptype, "default": self.default})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuntimeParameter) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def value_from(self, given: Mapping[str, Any]) -> Any:
        """This parameter's value, from what the caller gave or from the default."""
        if self.name not in given:
            if self.default is None:
                raise ValueError(
                    f"The pipeline needs a value for the runtime parameter {self.name!r}. Give it "
                    f"with run(pipeline, parameters={{{self.name!r}: …}}) or "
                    f"`stoker run … --param {self.name}=…`."
                )
            return self.default
        value = given[self.name]
        return self._parse(value) if isinstance(value, str) and self.ptype else self._check(value)

    def _check(self, value: Any) -> Any:
        if self.ptype and not _fits(value, self.ptype):
            raise ValueError(
                f"The runtime parameter {self.name!r} takes {self.ptype.__name__}, got "
                f"{mask_item(self.name, value)!r}."
            )
        return value

    def _parse(self, text: str) -> Any:
        """What was typed on a command line, as this parameter's type."""
        assert self.ptype
        if self.ptype is bool:
            words = {"true": True, "1": True, "false": False, "0": False}
            return self._check(words.get(text.lower(), text))
        try:
            return self.ptype(text)
        except ValueError:
            return self._check(text)


def _fits(value: Any, ptype: type) -> bool:
    if isinstance(value, bool):
        return ptype is bool
    return isinstance(value, (int, float) if ptype is float else ptype)


def substitute(value: Any, given: Mapping[str, Any]) -> Any:
    """`value` with every RuntimeParameter in it, however deep, replaced by its value."""
    match value:
        case RuntimeParameter():
            return value.value_from(given)
        case dict():
            return {key: substitute(inner, given) for key, inner in value.items()}
        case list() | tuple():
            return [substitute(inner, given) for inner in value]
    return value


def names_in(value: Any) -> set[str]:
    """The names of the RuntimeParameters in `value`, however deep."""
    try:
        return _find_names(value)
    except RecursionError:
        raise ValueError(
            f"A parameter, a {type(value).__name__}, holds itself, or is nested so deep that no "
            "file could say it. Give it as a flat dict or list."
        ) from None


def _find_names(value: Any) -> set[str]:
    match value:
        case RuntimeParameter():
            return {value.name}
        case dict():
            return set().union(*map(_find_names, value.values()))
        case list() | tuple():
            return set().union(*map(_find_names, value))
    return set()
