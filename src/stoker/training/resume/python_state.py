# SPDX-License-Identifier: Apache-2.0
"""What Python objects remember, read from them and set in the same objects of another process.

No class is looked up and nothing is unpickled: the module has made its objects again, and gets
their state back in place. A state is JSON, one of

    {"value": plain}                        a plain value
    {"object": type, "attributes": states}  an object of the user's own class, or a function: its
                                            attributes are the names that it has from around it
    {"items": states}                       a list or a dict that has such objects in it
    {"generator": plain}                    a generator of random numbers
    {"member": name}                        a member of an enumeration
    {"tensor": plain}                       a tensor of TensorFlow's

What is none of these is lost, and named: so is an object that is not there when it is set. Text
that has not changed since the training began is not kept: it says where things are written, and how
they are called, in this run.
"""

import contextlib
import copy
import enum
import functools
import io
import logging
import os
import random
import re
import sys
import threading
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stoker.any_python.modules import is_installed
from stoker.any_python.own_code import OUR_PLACES
from stoker.training.resume.plain_values import Arrays, NotPlain, as_plain, from_plain

State = dict[str, Any]

_STATELESS = (
    *(type, property, functools.partial, types.ModuleType, types.BuiltinFunctionType),
    *(types.FunctionType, re.Pattern, logging.Logger, io.IOBase),
    *(threading.Thread, type(threading.Lock()), type(threading.RLock()), np.ufunc),
    random.SystemRandom,
)
"""Types whose values do things, and remember little: they are passed over in silence."""
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)
_CONTAINERS = (list, dict, tuple, deque)
_BUILT_IN = (list, dict, tuple, set, frozenset, deque, str, bytes, bytearray, int, float)
_DEEPEST = 50
_LONGEST = 60
_LIBRARIES = {"keras", "stoker", "tensorflow", "tf_keras"}
_GIVEN_BY_KERAS = {"model", "params", "validation_data", "_model", "_params"}


class StateReader:
    """Reads the states of objects; their arrays go to `arrays`, what is lost to `lost`.

    `old_texts` are the texts that objects had when the training began.
    """

    def __init__(self, arrays: Arrays, old_texts: Mapping[str, str] | None = None) -> None:
        self._arrays = arrays
        self._old_texts = old_texts or {}
        self._seen: set[int] = set()
        self.texts: dict[str, str] = {}
        self.lost: list[str] = []

    def read_attributes(self, thing: Any, path: str) -> State:
        """The states of all attributes of an object, by name."""
        self._seen.add(id(thing))
        states = {}
        for name, value in list_attributes(thing):
            state = self._read(value, f"{path}.{name}")
            if state is not None:
                states[name] = state
        return states

    def _read(self, value: Any, path: str) -> State | None:
        """The state of a value; None if it has none, or none that can be read."""
        if isinstance(value, str):
            self.texts[path] = value
            if self._old_texts.get(path) == value:
                return None
            if os.sep in value:
                self._lose(path, "text")
                return None
        grown = dict(self._arrays)
        try:
            plain = as_plain(value, grown)
        except NotPlain:
            return self._read_in_place(value, path)
        self._arrays.update(grown)
        return {"value": plain}

    def _read_in_place(self, value: Any, path: str) -> State | None:
        if id(value) in self._seen:
            return None
        if isinstance(value, _GENERATORS) and not isinstance(value, _STATELESS):
            return {"generator": as_plain(_get_generator_state(value), self._arrays)}
        if isinstance(value, enum.Enum):
            return {"member": value.name}
        if type(value) in _CONTAINERS:
            self._seen.add(id(value))
            return {"items": self._read_items(value, path)}
        if _is_tensor_of_numbers(value):
            return {"tensor": as_plain(np.asarray(value.numpy()), self._arrays)}
        # What is made from a list, say, has more to it than its attributes; and all has an end.
        is_closed = isinstance(value, _BUILT_IN) or path.count(".") > _DEEPEST
        if is_opened(value) and not is_closed:
            return {
                "object": type(value).__qualname__,
                "attributes": self.read_attributes(value, path),
            }
        if not _is_stateless(value):
            self._lose(path, type(value).__name__)
        return None

    def _lose(self, path: str, kind: str) -> None:
        self.lost.append(f"{path[:_LONGEST]}{'…' * (len(path) > _LONGEST)} ({kind})")

    def _read_items(self, container: Any, path: str) -> list[Any]:
        return [
            [as_plain_or_none(key), self._read(item, f"{path}[{key!r}]")]
            for key, item in list_items(container)
        ]


def set_attributes(
    thing: Any, states: Mapping[str, State], arrays: Mapping[str, np.ndarray], path: str
) -> list[str]:
    """Give an object the states that were read; the paths of what could not be set."""
    lost: list[str] = []
    cells = _find_cells(thing)
    for name, state in states.items():
        found = cells[name].cell_contents if name in cells else getattr(thing, name, None)
        value = _set(found, state, arrays, f"{path}.{name}", lost)
        if value is found:
            continue
        if name in cells:
            cells[name].cell_contents = value
            continue
        with contextlib.suppress(AttributeError):  # a property, which follows from other state
            object.__setattr__(thing, name, value)
    return lost


def _set(
    found: Any, state: State | None, arrays: Mapping[str, np.ndarray], path: str, lost: list[str]
) -> Any:
    """What is to stand where `found` stands: mostly the same object, with the state set in it."""
    match state:
        case {"value": plain}:
            return _put(found, from_plain(plain, arrays))
        case {"generator": plain} if isinstance(found, _GENERATORS):
            _set_generator_state(found, from_plain(plain, arrays))
        case {"member": name} if isinstance(found, enum.Enum):
            return type(found)[name]
        case {"tensor": plain}:
            return sys.modules["tensorflow"].constant(from_plain(plain, arrays))
        case {"object": kind, "attributes": states} if type(found).__qualname__ == kind:
            if _is_frozen(found):
                found = copy.copy(found)  # it may stand elsewhere too, and is not to change there
            lost += set_attributes(found, states, arrays, path)
        case {"items": items} if type(found) in _CONTAINERS:
            keys = [as_plain_or_none(key) for key, _ in list_items(found)]
            if keys == [key for key, _ in items]:
                return _set_items(found, items, arrays, path, lost)
            lost.append(path)
        case None:
            pass
        case _:
            lost.append(path)
    return found


def _set_items(
    found: Any,
    items: Sequence[Any],
    arrays: Mapping[str, np.ndarray],
    path: str,
    lost: list[str],
) -> Any:
    values = [
        _set(value, state, arrays, f"{path}[{key!r}]", lost)
        for (key, value), (_, state) in zip(list_items(found), items, strict=True)
    ]
    if isinstance(found, tuple):
        return tuple(values)
    for (key, _), value in zip(list(list_items(found)), values, strict=True):
        found[key] = value
    return found


def _is_frozen(thing: Any) -> bool:
    parameters: Any = getattr(type(thing), "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def _put(found: Any, value: Any) -> Any:
    """The value itself; in a container that is there already, since others may know it."""
    if type(found) is not type(value):
        return value
    match found:
        case list():
            found[:] = value
        case dict() | set():
            found.clear()
            found.update(value)
        case deque() if found.maxlen == value.maxlen:
            found.clear()
            found.extend(value)
        case _:
            return value
    return found


def list_attributes(thing: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object, in its dict and its slots; not what Keras gives a callback."""
    for name, cell in _find_cells(thing).items():
        yield name, cell.cell_contents
    if isinstance(thing, types.MethodType):
        yield "__self__", thing.__self__
        return
    for name, value in list(getattr(thing, "__dict__", {}).items()):
        if not (is_callback(thing) and name in _GIVEN_BY_KERAS):
            yield name, value
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(thing, name):
                yield name, getattr(thing, name)


def list_items(container: Any) -> list[tuple[Any, Any]]:
    """What is in a list or a dict, each with what it is found by."""
    return list(container.items() if isinstance(container, dict) else enumerate(container))


def as_plain_or_none(key: Any) -> Any:
    """A key of a dict as JSON; None if it is no plain value."""
    try:
        return as_plain(key, {})
    except NotPlain:
        return None


def find_inside(things: Iterable[Any]) -> Iterator[Any]:
    """Everything that is reached from objects as their states are read, in the same order."""
    waiting, seen = list(things), set[int]()
    for one in waiting:
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if type(one) in _CONTAINERS:
            waiting += [item for _, item in list_items(one)]
        elif is_opened(one):
            waiting += [value for _, value in list_attributes(one)]


def is_callback(value: Any) -> bool:
    """Whether a value is a callback of either Keras."""
    return hasattr(value, "on_train_batch_end") and hasattr(value, "set_model")


def is_opened(value: Any) -> bool:
    """Whether the attributes of an object are read: of a callback, or of what is the user's."""
    if isinstance(value, types.MethodType):
        return is_opened(value.__self__)
    if _is_trackable(value):  # to ask a variable for an attribute can be to read the whole of it
        return False
    defined = value if isinstance(value, types.FunctionType) else type(value)
    return is_callback(value) or _is_users(defined)


def _is_users(defined: Any) -> bool:
    """Whether a class or a function is in a file of the user's own."""
    file = getattr(sys.modules.get(defined.__module__), "__file__", None)
    if file is None:
        return False
    path = os.path.abspath(file)
    return not is_installed(path) and not path.startswith(OUR_PLACES)


def _find_cells(thing: Any) -> dict[str, types.CellType]:
    """The names that a function has from around it; those that are not set yet apart."""
    if not isinstance(thing, types.FunctionType):
        return {}
    named = zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True)
    return {name: cell for name, cell in named if has_value(cell)}


def has_value(cell: types.CellType) -> bool:
    """Whether a name that a function has from around it is set."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _is_stateless(value: Any) -> bool:
    """Whether a value has nothing to lose; the variables of what is TensorFlow's are kept."""
    if isinstance(value, types.MethodType):
        return _is_stateless(value.__self__)
    if isinstance(value, (*_STATELESS, os.PathLike)):
        return True
    return is_of_a_library(value) and not isinstance(value, Iterator)


def is_of_a_library(value: Any) -> bool:
    """Whether a value is TensorFlow's or Keras's, or made from such a class: it may have variables.

    Of the user's own classes, the models, layers and modules are.
    """
    return _is_trackable(value) or type(value).__module__.partition(".")[0] in _LIBRARIES


def _is_trackable(value: Any) -> bool:
    tf = sys.modules.get("tensorflow")
    return tf is not None and isinstance(value, tf.__internal__.tracking.Trackable)


def _is_tensor_of_numbers(value: Any) -> bool:
    tf = sys.modules.get("tensorflow")
    if tf is None or not isinstance(value, tf.Tensor) or not hasattr(value, "numpy"):
        return False
    return bool(value.dtype.is_numpy_compatible) and value.dtype != tf.string


def _get_generator_state(generator: Any) -> Any:
    match generator:
        case random.Random():
            return generator.getstate()
        case np.random.Generator():
            return generator.bit_generator.state
    return generator.get_state(legacy=True)


def _set_generator_state(generator: Any, state: Any) -> None:
    match generator:
        case random.Random():
            generator.setstate(state)
        case np.random.Generator():
            generator.bit_generator.state = state
        case _:
            generator.set_state(state)
