# SPDX-License-Identifier: Apache-2.0
"""All variables that a training changes, of Keras 2, Keras 3 or a custom loop.

They are found in the same order in every run of the same code, and kept by their number.
"""

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

_KEY = "variable"


class OtherVariables(Exception):
    """The variables are not those that were saved."""


def variables_of(objects: Iterable[Any]) -> list[Any]:
    """The TensorFlow variables of models, optimizers, metrics, each once.

    What is attached to an object as an attribute is found, as tf.train.Checkpoint would, and what
    the object itself says are its variables: neither alone is all of them. A variable that is
    spread over several devices is as many. Of one that is spread over several processes, only
    what is in this one is read: to read the whole is a meeting that all would have to come to.
    """
    found = {
        id(part): part
        for one in objects
        for variable in _walk_variables(one)
        for part in _find_parts(variable)
    }
    return [variable for variable in found.values() if variable.dtype.name != "string"]


def num_bytes(variables: Sequence[Any]) -> int:
    """How large all of their values are."""
    return sum(math.prod(one.shape) * one.dtype.size for one in variables)


def read_variables(variables: Sequence[Any], key: str = _KEY) -> dict[str, np.ndarray]:
    """The values, by number."""
    return {f"{key} {number}": np.asarray(one.numpy()) for number, one in enumerate(variables)}


def set_variables(
    variables: Sequence[Any], arrays: Mapping[str, np.ndarray], key: str = _KEY
) -> None:
    """Set the values that were read; raises OtherVariables, and sets none, if they do not fit."""
    saved = [array for name, array in arrays.items() if name.startswith(f"{key} ")]
    if len(saved) != len(variables):
        raise OtherVariables(f"it has {len(variables)} variables, not {len(saved)}")
    for variable, value in zip(variables, saved, strict=True):
        if tuple(variable.shape) != value.shape:
            raise OtherVariables(
                f"{variable.name} has the shape {tuple(variable.shape)}, not {value.shape}"
            )
    for variable, value in zip(variables, saved, strict=True):
        _assign(variable, value)


def _walk_variables(thing: Any) -> Iterator[Any]:
    import tensorflow as tf

    if isinstance(thing, tf.Variable):
        yield thing
        return
    if type(thing).__name__ == "SeedGenerator":  # of Keras 3, which tells none
        yield thing.state
    if isinstance(thing, tf.__internal__.tracking.Trackable):
        # Not TrackableView.descendants: that sorts by nothing that stays the same.
        yield from _walk_attached(thing, tf.train.TrackableView(thing))
    of_its_own: Any = ()
    with contextlib.suppress(ValueError):  # a model of Keras 2 that is not built has none to tell
        of_its_own = getattr(thing, "variables", ())
    yield from of_its_own() if callable(of_its_own) else of_its_own


def _walk_attached(root: Any, view: Any) -> Iterator[Any]:
    queue, seen = [root], {id(root)}
    for one in queue:
        yield one
        for child in (*view.children(one).values(), *_find_generator_state(one)):
            if id(child) not in seen:
                seen.add(id(child))
                queue.append(child)


def _find_generator_state(thing: Any) -> list[Any]:
    """The state of the generator of a Dropout, or a layer like it, of Keras 2."""
    import tensorflow as tf

    if isinstance(thing, tf.Variable):  # to ask one for an attribute can be to read the whole
        return []
    generator = getattr(getattr(thing, "_random_generator", None), "_generator", None)
    return [generator.state] if generator is not None else []


def _find_parts(thing: Any) -> Sequence[Any]:
    """The TensorFlow variables that a thing is, or that one of Keras 3 holds; else none."""
    import tensorflow as tf

    inside = thing if isinstance(thing, tf.Variable) else getattr(thing, "_value", None)
    if not isinstance(inside, tf.Variable):
        return ()
    parts: Sequence[Any] = getattr(inside, "_values", ()) or (inside,)
    return parts


def _assign(variable: Any, value: np.ndarray) -> None:
    if value.dtype.kind == "V":  # as NumPy reads types that are not its own, such as bfloat16
        value = value.view(variable.dtype.as_numpy_dtype)
    variable.assign(value)
