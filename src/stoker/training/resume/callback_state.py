# SPDX-License-Identifier: Apache-2.0
"""What Keras's callbacks remember from epoch to epoch: the best loss, how long to wait for better.

Any callback's attributes are kept if they are made of numbers, lists, dicts and arrays. Text is
not: it says where a callback writes, and that differs from run to run.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stoker.training.resume.plain_values import Arrays, NotPlain, as_plain, from_plain

_NOT_STATE = {"model", "params", "validation_data"}
_COMPARES = "monitor_op is set"
"""Callbacks of Keras 3 choose late whether less is better, and turn the sign of a number then."""


def read_callbacks(callbacks: Sequence[Any], arrays: Arrays) -> list[dict[str, Any]]:
    """The state of each callback; its arrays go to `arrays`."""
    return [_read(callback, arrays) for callback in callbacks]


def set_callbacks(
    callbacks: Sequence[Any], states: Sequence[dict[str, Any]], arrays: Mapping[str, np.ndarray]
) -> None:
    """Give each callback the state that was read."""
    for callback, state in zip(callbacks, states, strict=True):
        attributes = dict(state)
        if attributes.pop(_COMPARES, False) and callback.monitor_op is None:
            callback._set_monitor_op()
        for name, plain in attributes.items():
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
    if hasattr(callback, "_set_monitor_op"):
        found[_COMPARES] = callback.monitor_op is not None
    return found
