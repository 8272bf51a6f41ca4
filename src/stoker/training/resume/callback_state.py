# SPDX-License-Identifier: Apache-2.0
"""What callbacks remember from epoch to epoch: the best loss, how long to wait for better."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stoker.training.resume.plain_values import Arrays
from stoker.training.resume.python_state import StateReader, set_attributes

_KERAS = ("keras", "tf_keras")


def read_texts(callbacks: Sequence[Any]) -> dict[str, str]:
    """The texts that callbacks hold now, by where they are."""
    reader = StateReader({})
    for number, callback in enumerate(callbacks):
        reader.read_attributes(callback, _make_path(number, callback))
    return reader.texts


def read_callbacks(
    callbacks: Sequence[Any], arrays: Arrays, old_texts: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """The state of each callback, and what is not in it; arrays go to `arrays`."""
    states, lost = [], []
    reader = StateReader(arrays, old_texts)
    for number, callback in enumerate(callbacks):
        path = _make_path(number, callback)
        states.append(
            {
                "attributes": reader.read_attributes(callback, path),
                # Those of Keras 3 choose late whether less is better, and turn a sign then.
                "has_chosen": getattr(callback, "monitor_op", None) is not None,
            }
        )
        if not _is_keras_own(callback):
            lost += [path.partition(" ")[2] for path in reader.lost]
        reader.lost.clear()
    return states, lost


def set_callbacks(
    callbacks: Sequence[Any],
    states: Sequence[Mapping[str, Any]],
    arrays: Mapping[str, np.ndarray],
) -> list[str]:
    """Give each callback the state that was read; what could not be given."""
    lost = []
    for callback, state in zip(callbacks, states, strict=True):
        if state["has_chosen"] and getattr(callback, "monitor_op", 0) is None:
            callback._set_monitor_op()
        lost += set_attributes(callback, state["attributes"], arrays, type(callback).__name__)
    return lost


def _is_keras_own(callback: Any) -> bool:
    """Whether a callback is Keras's, which prepares anew what it cannot keep."""
    kind = type(callback)
    return kind.__module__.partition(".")[0] in _KERAS and kind.__name__ != "LambdaCallback"


def _make_path(number: int, callback: Any) -> str:
    """Where a callback is: two of one class are told apart by their numbers."""
    return f"{number} {type(callback).__name__}"
