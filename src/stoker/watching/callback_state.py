# SPDX-License-Identifier: Apache-2.0
"""What Keras's callbacks remember from epoch to epoch: the best loss, how long to wait for better.

Any callback's attributes are kept if they are made of numbers, lists, dicts and arrays. Text is
not: it says where a callback writes, and that differs from run to run.
"""

import contextlib
from collections.abc import Sequence
from typing import Any

from stoker.watching.plain_values import Arrays, NotPlain, as_plain, from_plain

__all__ = ["read_callbacks", "set_callbacks"]

_NOT_STATE = {"model", "params", "validation_data"}


def read_callbacks(callbacks: Sequence[Any], arrays: Arrays) -> list[dict[str, Any]]:
    """The state of each callback; its arrays go to `arrays`."""
    return [_read(callback, arrays) for callback in callbacks]


def set_callbacks(
    callbacks: Sequence[Any], states: Sequence[dict[str, Any]], arrays: Arrays
) -> None:
    """Give each callback the state that was read."""
    for callback, state in zip(callbacks, states, strict=False):
        for name, plain in state.items():
            with contextlib.suppress(AttributeError):  # a property that follows from other state
                setattr(callback, name, from_plain(plain, arrays))


def _read(callback: Any, arrays: Arrays) -> dict[str, Any]:
    found = {}
    for name, value in vars(callback).items():
        if name in _NOT_STATE or isinstance(value, str):
            continue
        grown = dict(arrays)
        with contextlib.suppress(NotPlain):
            found[name] = as_plain(value, grown)
            arrays.update(grown)
    return found
