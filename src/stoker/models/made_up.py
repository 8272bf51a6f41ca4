# SPDX-License-Identifier: Apache-2.0
"""Inputs for a signature that no examples fit: rows that `fit` was given, or random values."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from stoker.models.inputs import Arrays, Misfit

if TYPE_CHECKING:
    from stoker.models.saved_model import Signature, TensorInfo

_MOST_VALUES = 1 << 26
_NUM_ROWS = 2
_OPEN_SIZES = (4, 32, 1)
"""Sizes for a dimension that may be of any, one after the other: some models need a few."""


def choose_rows(signature: "Signature", rows: Arrays) -> Arrays | None:
    """Rows of what `fit` was given as a signature's inputs; None if they do not fit it.

    They are found by name, or else by what alone has the type and the shape that an input takes.
    """
    chosen: Arrays = {}
    for name, info in signature.inputs.items():
        named = {key: rows[key] for key in (name, name.removesuffix("_input")) if key in rows}
        fitting = [
            part
            for part in (_fit_part(part, info) for part in (named or rows).values())
            if part is not None
        ]
        if not fitting or (len(fitting) > 1 and not named):
            return None
        chosen[name] = fitting[0]
    is_finite = all(np.isfinite(part).all() for part in chosen.values() if part.dtype.kind == "f")
    return chosen if chosen and is_finite else None


def _fit_part(part: np.ndarray, info: "TensorInfo") -> np.ndarray | None:
    """Rows in the type and the shape that an input takes; None if they are of another kind."""
    is_text = part.dtype.kind == "O"
    if is_text != (info.dtype == "string") or not info.shape or len(part) == 0:
        return None
    if len(info.shape) == part.ndim + 1 and info.shape[-1] in (1, -1):
        part = part[..., None]
    sizes = zip(info.shape[1:], part.shape[1:], strict=False)
    if len(info.shape) != part.ndim or any(size not in (-1, own) for size, own in sizes):
        return None
    if info.shape[0] > 0:
        part = part[np.arange(info.shape[0]) % len(part)]
    return part if is_text else part.astype(tf.dtypes.as_dtype(info.dtype).as_numpy_dtype)


def make_up_inputs(signature: "Signature", text: bytes) -> Iterator[Arrays]:
    """Inputs that differ in what was not declared, one after the other; Misfit if there are none.

    Numbers are from 0 to 1, which most models take, and `text` stands for words.
    """
    random = np.random.default_rng(1)
    for size in _OPEN_SIZES:
        yield {
            name: _make_up(random, name, info, size, text)
            for name, info in signature.inputs.items()
        }


def _make_up(
    random: np.random.Generator, name: str, info: "TensorInfo", size: int, text: bytes
) -> Any:
    shape = close_shape(info.shape, num_rows=_NUM_ROWS, size=size)
    if math.prod(shape) > _MOST_VALUES:
        raise Misfit(f"{name!r} has the shape {info.shape}, which is too large to be made up")
    try:
        return draw_values(random, info.dtype, shape, text=text, positive=True)
    except TypeError as error:
        raise Misfit(f"{name!r} is of the type {info.dtype}, which is not made up") from error


def close_shape(shape: list[int] | None, *, num_rows: int, size: int) -> list[int]:
    """The shape with `num_rows` for a first size that may be any, and `size` for the others."""
    if shape == []:
        return []
    first, *others = shape or [-1]
    return [num_rows if first == -1 else first, *(size if one == -1 else one for one in others)]


def draw_values(
    random: np.random.Generator,
    dtype: str,
    shape: Sequence[int],
    *,
    text: bytes = b"",
    positive: bool = False,
) -> Any:
    """Small numbers, which are valid as positions too, and words; TypeError for other types."""
    if dtype == "string":
        words = np.empty(shape, object)
        words.fill(text)  # not np.full, which takes zeros off the end of bytes
        return words
    kind = tf.dtypes.as_dtype(dtype)
    if kind.is_floating or kind.is_complex:
        drawn = random.random(shape) if positive else random.normal(size=shape)
        return np.asarray(drawn).astype(kind.as_numpy_dtype)
    return np.asarray(random.integers(0, 2, size=shape)).astype(kind.as_numpy_dtype)
