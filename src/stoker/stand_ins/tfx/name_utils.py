# SPDX-License-Identifier: Apache-2.0
"""Classes and functions by their dotted names, as `tfx.utils.name_utils` names it."""

import importlib
import importlib.util
import sys
from functools import reduce
from typing import Any

__all__ = ["get_full_name", "resolve_full_name"]


def get_full_name(value: Any, strict_check: bool = True) -> str:
    """`package.module.Name` of a class or function; with `strict_check`, one that can be found."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not module or not name:
        raise ValueError(f"{value!r} has no name; give a class or a function.")
    full_name = f"{module}.{name}"
    if strict_check and resolve_full_name(full_name) is not value:
        raise ValueError(
            f"{full_name} is not {value!r} but something else of that name: rename one."
        )
    return full_name


def resolve_full_name(full_name: str) -> Any:
    """The class, function or value at `package.module.Name`."""
    parts = full_name.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise ValueError(f"A name should be like 'package.module.Name', got {full_name!r}.")
    split = _count_module_parts(parts)
    module = importlib.import_module(".".join(parts[:split]))
    try:
        return reduce(getattr, parts[split:], module)
    except AttributeError as error:
        raise ValueError(f"There is no {full_name}: {error}. Check the name.") from error


def _count_module_parts(parts: list[str]) -> int:
    """How many of the parts name packages and a module; the rest are names in it."""
    length = 0
    while length < len(parts) - 1 and _is_module(".".join(parts[: length + 1])):
        length += 1
    if not length:
        raise ValueError(f"There is no module {parts[0]!r} for {'.'.join(parts)!r}: install it.")
    return length


def _is_module(name: str) -> bool:
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the name before it is a module, not a package
        return False
