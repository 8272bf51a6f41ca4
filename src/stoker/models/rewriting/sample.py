# SPDX-License-Identifier: Apache-2.0
"""What a model and its rewritten form are both called with: eval examples, or made-up ones."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError

from stoker.data.input_files import matching_files
from stoker.data.tfrecord import read_records
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import BadData, RewriteFailed
from stoker.models.rewriting.comparison import Arrays
from stoker.models.rewriting.signature import Signature, first_line

__all__ = ["NUM_EXAMPLES", "Sample", "draw", "draw_if_fitting", "made_up"]

NUM_EXAMPLES = 500
_NUM_MADE_UP = 64
_OPEN_SIZE = 4
_LISTS = {tf.string: "bytes_list", tf.float32: "float_list", tf.int64: "int64_list"}
_CALL_ERRORS = (tf.errors.OpError, TypeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Inputs of a signature, one row for each example."""

    arrays: Arrays
    source: str

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values()), ()))


def draw(signature: Signature, files: Sequence[str]) -> Sample:
    """The first examples of these files as inputs; RewriteFailed if the signature takes others."""
    records = list(itertools.islice(_records(files), NUM_EXAMPLES))
    if not records:
        raise RewriteFailed(f"There are no examples in {', '.join(files)} to compare models on.")
    if signature.takes_examples:
        (name,) = signature.inputs
        arrays = {name: np.array(records, object)}
    else:
        arrays = _columns(signature, records, files)
    arrays = _answered(signature, arrays, files)
    return Sample(arrays=arrays, source=f"{len(next(iter(arrays.values())))} eval examples")


def draw_if_fitting(signature: Signature, files: Sequence[str]) -> Sample:
    """Examples of these files if there are such that fit; else made-up inputs, which say why."""
    if not files:
        return made_up(signature, "no examples were given")
    try:
        return draw(signature, files)
    except (BadData, RewriteFailed) as error:
        return made_up(signature, str(error))


def made_up(signature: Signature, why: str) -> Sample:
    """Random inputs: small numbers, which are valid as positions too, and empty words."""
    random = np.random.default_rng(1)
    if signature.takes_examples:
        (name,) = signature.inputs
        records = [_made_up_example(signature, random) for _ in range(_NUM_MADE_UP)]
        arrays = {name: np.array(records, object)}
    else:
        arrays = {
            name: _random(random, spec.dtype, _concrete(spec.shape))
            for name, spec in signature.inputs.items()
        }
    return Sample(arrays=arrays, source=f"{_NUM_MADE_UP} made-up inputs, because {why}")


def _records(files: Sequence[str]) -> Any:
    for path in matching_files(files):
        yield from read_records(path)


def _answered(signature: Signature, arrays: Arrays, files: Sequence[str]) -> Arrays:
    """The rows that the signature answers; usually all."""
    try:
        signature(arrays)
        return arrays
    except _CALL_ERRORS as error:
        size = len(next(iter(arrays.values())))
        good = [row for row in range(size) if _works(signature, arrays, row)]
        if not good:
            raise RewriteFailed(
                f"The signature {signature.key!r} of {signature.path} takes none of the examples "
                f"in {', '.join(files)}: {first_line(error)} Give it those that it is served "
                "with, which are the raw ones where the model holds a transform graph."
            ) from error
        return {name: array[good] for name, array in arrays.items()}


def _works(signature: Signature, arrays: Arrays, row: int) -> bool:
    try:
        signature({name: array[row : row + 1] for name, array in arrays.items()})
    except _CALL_ERRORS:
        return False
    return True


def _columns(signature: Signature, records: list[bytes], files: Sequence[str]) -> Arrays:
    """Features of the examples as inputs of the same names."""
    try:
        examples = [Example.FromString(record) for record in records]
    except DecodeError as error:
        raise BadData(f"{', '.join(files)}: a record is not a tf.Example: {error}.") from error
    rows = [_row(signature, example) for example in examples]
    full = [row for row in rows if row is not None]
    if not full:
        raise RewriteFailed(
            f"The signature {signature.key!r} of {signature.path} takes "
            f"{', '.join(sorted(signature.inputs))}, and no example in {', '.join(files)} has "
            "features of these names, types and sizes. Name the inputs as the features are named."
        )
    return {name: np.stack([row[name] for row in full]) for name in signature.inputs}


def _row(signature: Signature, example: Example) -> Arrays | None:
    """One example as a row of each input; None if one is missing or does not fit."""
    found: Arrays = {}
    for name, spec in signature.inputs.items():
        values = _values(example, name)
        sizes = spec.shape.as_list()[1:] if spec.shape.rank else []
        open_sizes = [-1 if size is None else size for size in sizes]
        fits = spec.dtype == tf.string or not any(isinstance(one, bytes) for one in values)
        if not values or not fits or open_sizes.count(-1) > 1:
            return None
        known = math.prod(size for size in open_sizes if size != -1)
        if len(values) % known or (-1 not in open_sizes and len(values) != known):
            return None
        array = np.array(values, spec.dtype.as_numpy_dtype)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            return None
        found[name] = array.reshape(open_sizes)
    return found


def _values(example: Example, name: str) -> list[Any]:
    feature = example.features.feature.get(name)
    kind = feature and feature.WhichOneof("kind")
    return list(getattr(feature, kind).value) if kind else []


def _made_up_example(signature: Signature, random: np.random.Generator) -> bytes:
    example = Example()
    for name, feature in signature.parses.items():
        values = _random(random, feature.dtype, [feature.size])
        getattr(example.features.feature[name], _LISTS[feature.dtype]).value.extend(values.tolist())
    return example.SerializeToString()


def _concrete(shape: tf.TensorShape) -> list[int]:
    sizes = shape.as_list() if shape.rank else [None]
    return [sizes[0] or _NUM_MADE_UP, *(size or _OPEN_SIZE for size in sizes[1:])]


def _random(random: np.random.Generator, dtype: tf.DType, shape: Sequence[int]) -> Any:
    if dtype == tf.string:
        return np.full(shape, b"", object)
    if dtype.is_floating:
        return random.normal(size=shape).astype(dtype.as_numpy_dtype)
    return random.integers(0, 2, size=shape).astype(dtype.as_numpy_dtype)
