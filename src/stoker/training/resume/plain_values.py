# SPDX-License-Identifier: Apache-2.0
"""Python values as JSON and arrays, for checkpoints: numbers, text, containers, dates, arrays.

Of each type exactly: what is made from a subclass would not be one of it.
"""

import datetime
import decimal
import fractions
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
TakeApart = Callable[[Any], list[Any]]
Make = Callable[[list[Any]], Any]


def _list_items(one: Mapping[Any, Any]) -> list[Any]:
    return [list(item) for item in one.items()]


def _list_ends(one: range | slice) -> list[Any]:
    return [one.start, one.stop, one.step]


_MADE_OF: Mapping[type, tuple[TakeApart, Make]] = {
    list: (list, list),
    tuple: (list, tuple),
    set: (list, set),
    frozenset: (list, frozenset),
    deque: (lambda one: [list(one), one.maxlen], lambda made: deque(*made)),
    dict: (_list_items, dict),
    OrderedDict: (_list_items, OrderedDict),
    Counter: (_list_items, lambda made: Counter(dict(made))),
    bytes: (lambda one: [one.decode("latin-1")], lambda made: made[0].encode("latin-1")),
    bytearray: (
        lambda one: [one.decode("latin-1")],
        lambda made: bytearray(made[0], "latin-1"),
    ),
    complex: (lambda one: [one.real, one.imag], lambda made: complex(*made)),
    range: (_list_ends, lambda made: range(*made)),
    slice: (_list_ends, lambda made: slice(*made)),
    decimal.Decimal: (lambda one: [str(one)], lambda made: decimal.Decimal(*made)),
    fractions.Fraction: (
        lambda one: [one.numerator, one.denominator],
        lambda made: fractions.Fraction(*made),
    ),
    datetime.timedelta: (
        lambda one: [one.days, one.seconds, one.microseconds],
        lambda made: datetime.timedelta(*made),
    ),
    datetime.date: (
        lambda one: [one.isoformat()],
        lambda made: datetime.date.fromisoformat(*made),
    ),
    datetime.datetime: (
        lambda one: [one.isoformat()],
        lambda made: datetime.datetime.fromisoformat(*made),
    ),
}
"""By type: the parts that a value is made of, and a value from its parts."""
_TYPES = {kind.__name__: kind for kind in _MADE_OF}
_FACTORIES = {kind.__name__: kind for kind in (int, float, bool, str, list, dict, set, tuple)}
"""What a defaultdict may make."""


class NotPlain(Exception):
    """A value that is not made of plain ones: a function, a file, a model."""


def as_plain(value: Any, arrays: Arrays) -> Any:
    """A value as JSON has it; arrays go to `arrays`, and a reference stands for each."""
    try:
        return _as_plain(value, arrays)
    except RecursionError as error:  # a list that is in itself
        raise NotPlain(value) from error


def _as_plain(value: Any, arrays: Arrays) -> Any:
    kind = type(value)
    if kind in (type(None), bool, int, float, str):
        return value
    if kind is np.ndarray or isinstance(value, np.generic):
        return _keep_array(value, arrays)
    if kind is defaultdict:
        return _describe_defaultdict(value, arrays)
    in_a_zone = kind is datetime.datetime and type(value.tzinfo) not in _TIME_ZONES
    if kind not in _MADE_OF or in_a_zone:
        raise NotPlain(value)
    take_apart, _ = _MADE_OF[kind]
    return {kind.__name__: [_as_plain(part, arrays) for part in take_apart(value)]}


_TIME_ZONES = (type(None), datetime.timezone)


def _keep_array(value: Any, arrays: Arrays) -> dict[str, Any]:
    if value.dtype.hasobject:
        raise NotPlain(value)
    key = f"value {len(arrays)}"
    arrays[key] = np.asarray(value)
    kept = {"array": key, "scalar": isinstance(value, np.generic)}
    # Types that are not NumPy's own, such as bfloat16, are read as so many bytes.
    is_foreign = value.dtype.kind == "V" and value.dtype.names is None
    return {**kept, "dtype": value.dtype.name} if is_foreign else kept


def _describe_defaultdict(value: Any, arrays: Arrays) -> dict[str, Any]:
    factory = value.default_factory
    if factory not in (None, *_FACTORIES.values()):
        raise NotPlain(value)
    return {"makes": factory and factory.__name__, "defaultdict": _as_plain(dict(value), arrays)}


def from_plain(plain: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value that `as_plain` was given."""
    match plain:
        case {"array": key, "scalar": scalar, **more}:
            array: Any = arrays[key].view(more["dtype"]) if more else arrays[key]
            return array[()] if scalar else array
        case {"makes": factory, "defaultdict": items}:
            return defaultdict(factory and _FACTORIES[factory], from_plain(items, arrays))
        case dict():
            ((kind, parts),) = plain.items()
            _, make = _MADE_OF[_TYPES[kind]]
            return make(from_plain(parts, arrays))
        case list():
            return [from_plain(part, arrays) for part in plain]
    return plain
