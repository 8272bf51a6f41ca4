# SPDX-License-Identifier: Apache-2.0
"""Python values as JSON and arrays, for checkpoints: numbers, text, lists, dicts, NumPy arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


class NotPlain(Exception):
    """A value that is not made of plain ones: a function, a file, a model."""


def as_plain(value: Any, arrays: Arrays) -> Any:
    """A value as JSON has it; arrays go to `arrays`, and a reference stands for each."""
    match value:
        case np.ndarray() | np.generic():
            if value.dtype.hasobject:
                raise NotPlain(value)
            key = f"value {len(arrays)}"
            arrays[key] = np.asarray(value)
            return {"array": key, "scalar": isinstance(value, np.generic)}
        case None | bool() | int() | float() | str():
            return value
        case list():
            return {"list": [as_plain(one, arrays) for one in value]}
        case tuple():
            return {"tuple": [as_plain(one, arrays) for one in value]}
        case dict():
            pairs = [[as_plain(part, arrays) for part in pair] for pair in value.items()]
            return {"dict": pairs}
    raise NotPlain(value)


def from_plain(plain: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value that `as_plain` was given."""
    match plain:
        case {"array": key, "scalar": scalar}:
            return arrays[key][()] if scalar else arrays[key]
        case {"list": parts}:
            return [from_plain(one, arrays) for one in parts]
        case {"tuple": parts}:
            return tuple(from_plain(one, arrays) for one in parts)
        case {"dict": pairs}:
            return {from_plain(k, arrays): from_plain(v, arrays) for k, v in pairs}
    return plain
