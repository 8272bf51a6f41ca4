# SPDX-License-Identifier: Apache-2.0
"""Each kind of tensor as arrays of a block of rows, and as tensors of one of its batches.

To add a kind: a class with the members of `Kind`, and a line in `_kinds_of` of `tensors.py`.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from stoker.data.block_words import CODE, BlockWords
from stoker.data.encode import ends_of
from stoker.data.gather import RowReader
from stoker.data.packed_rows import Cells

_CODES = tf.as_dtype(CODE)


@dataclass(frozen=True, slots=True)
class BlockRows:
    """The rows of a block, of which every `batch_rows` are a batch."""

    reader: RowReader
    rows: np.ndarray
    batch_rows: int
    cells: dict[str, Cells] = field(kw_only=True)
    words: BlockWords = field(kw_only=True)

    @property
    def num_batches(self) -> int:
        """How many batches they are."""
        return len(self.rows) // self.batch_rows

    def lengths(self, key: str) -> np.ndarray:
        """How many values each row has."""
        return np.broadcast_to(self.cells[key].lengths, len(self.rows))

    def values(self, key: str, dtype: tf.DType) -> np.ndarray:
        """All values of a column; of words their numbers."""
        cells = self.cells[key]
        if not len(cells.values):  # a column without values may have no type
            return np.empty(0, _stored(dtype).as_numpy_dtype)
        return self.words.add(cells) if dtype == tf.string else cells.values


@dataclass(frozen=True, slots=True)
class Part:
    """One array of a block."""

    spec: tf.TensorSpec
    is_by_batch: bool = True
    """Whether it has an element for each batch; else batches are cut out of it."""


class Kind(Protocol):
    """Columns that become tensors of one kind."""

    @property
    def keys(self) -> Sequence[str]:
        """The columns."""

    @property
    def dtype(self) -> tf.DType:
        """The type of their values."""

    @property
    def parts(self) -> list[Part]:
        """What `arrays` returns."""

    def arrays(self, block: BlockRows) -> list[np.ndarray]:
        """The columns in a block, gathered by Python."""

    def tensors(self, parts: list[Any], words: Any) -> dict[str, Any]:
        """The tensors of a batch, by column, of its parts and of the words of the block."""


def _stored(dtype: tf.DType) -> tf.DType:
    """What a block has values of this type as."""
    return _CODES if dtype == tf.string else dtype


def _look_up(values: Any, dtype: tf.DType, words: Any) -> Any:
    """The values themselves, where a block has the numbers of words, one in each innermost row."""
    # As an op of its own: tf.gather takes three times as long for strings.
    return tf.gather_nd(words, values) if dtype == tf.string else values


@dataclass(frozen=True, slots=True)
class Dense:
    """A column of which every row has the same shape."""

    key: str
    dtype: tf.DType
    shape: list[int]
    default: Any

    @property
    def keys(self) -> Sequence[str]:
        """The column alone."""
        return [self.key]

    @property
    def _inner_shape(self) -> list[int]:
        return [*self.shape, 1] if self.dtype == tf.string else self.shape

    @property
    def parts(self) -> list[Part]:
        """What `arrays` returns."""
        return [Part(tf.TensorSpec([None, None, *self._inner_shape], _stored(self.dtype)))]

    def arrays(self, block: BlockRows) -> list[np.ndarray]:
        """The columns in a block."""
        size, lengths = math.prod(self.shape), block.cells[self.key].lengths
        is_whole = isinstance(lengths, int) and lengths == size
        values = block.values(self.key, self.dtype)
        values = values if is_whole else self._fill(block, values, size)
        return [values.reshape(block.num_batches, block.batch_rows, *self._inner_shape)]

    def _fill(self, block: BlockRows, values: np.ndarray, size: int) -> np.ndarray:
        """The values with the default where a row lacks the feature."""
        lengths = block.lengths(self.key)
        absent = lengths == 0
        absent[absent] = block.reader.missing(block.rows[absent], self.key)
        if absent.any() and self.default is None:
            raise ValueError(
                f"Feature {self.key!r} is required, and an example lacks it. In the schema, give "
                "it a default value, or no fixed shape."
            )
        if (wrong := lengths[~absent & (lengths != size)]).size:
            raise ValueError(
                f"Feature {self.key!r} has {size} values by the schema, and {wrong[0]} in an "
                "example. In the schema, give it no fixed shape."
            )
        filled = np.empty((len(lengths), size), values.dtype)
        filled[~absent] = values.reshape(-1, size)
        if absent.any():
            default = np.asarray(self.default, self.dtype.as_numpy_dtype).ravel()
            is_text = self.dtype == tf.string
            filled[absent] = block.words.add_objects(default) if is_text else default
        return filled

    def tensors(self, parts: list[Any], words: Any) -> dict[str, Any]:
        """The tensors of a batch."""
        (values,) = parts
        return {self.key: _look_up(values, self.dtype, words)}


def _values_parts(dtype: tf.DType, num_columns: int) -> list[Part]:
    limits = [Part(tf.TensorSpec([None, 1], tf.int64)) for _ in range(2)]
    sizes = Part(tf.TensorSpec([None, num_columns], tf.int64))
    return [*limits, sizes, Part(tf.TensorSpec([None], _stored(dtype)), is_by_batch=False)]


def _values_arrays(
    block: BlockRows, keys: Sequence[str], dtype: tf.DType, lengths: np.ndarray
) -> list[np.ndarray]:
    """Where the values of each batch begin and end, how many each column has, and all values.

    Values lie batch by batch, and in these column by column.
    """
    sizes = lengths.sum(axis=2, dtype=np.int64)
    ends = ends_of(sizes.sum(axis=1))[:, None]
    columns = [block.values(key, dtype) for key in keys]
    if len(columns) > 1:
        limits = np.concatenate([np.zeros_like(sizes[:1]), np.cumsum(sizes, axis=0)]).tolist()
        columns = [
            column[start:end]
            for starts, stops in itertools.pairwise(limits)
            for column, start, end in zip(columns, starts, stops, strict=True)
        ]
    return [ends[:-1], ends[1:], sizes, np.concatenate(columns)]


def _cut(parts: list[Any], dtype: tf.DType, words: Any) -> list[Any]:
    """The values of each column in a batch."""
    begin, end, sizes, values = parts
    own = tf.strided_slice(values, begin, end)
    if dtype != tf.string:
        return _split(own, sizes)
    return [_look_up(one, dtype, words) for one in _split(own[:, None], sizes)]


def _split(tensor: Any, sizes: Any) -> list[Any]:
    num_columns = sizes.shape[0]
    return tf.split(tensor, sizes, num=num_columns) if num_columns > 1 else [tensor]


def _lengths(block: BlockRows, keys: Sequence[str]) -> np.ndarray:
    """How many values there are: by batch, by column, by row."""
    columns = [block.lengths(key) for key in keys]
    by_batch = [one.reshape(block.num_batches, block.batch_rows) for one in columns]
    return np.stack(by_batch, axis=1)


@dataclass(frozen=True, slots=True)
class Sparse:
    """Columns of any number of values per row, as sparse tensors as wide as their longest row."""

    keys: Sequence[str]
    dtype: tf.DType

    @property
    def parts(self) -> list[Part]:
        """What `arrays` returns."""
        return [
            Part(tf.TensorSpec([None, len(self.keys), 2], tf.int64)),
            Part(tf.TensorSpec([None], tf.int64), is_by_batch=False),
            *_values_parts(self.dtype, len(self.keys)),
        ]

    def arrays(self, block: BlockRows) -> list[np.ndarray]:
        """The columns in a block."""
        lengths = _lengths(block, self.keys)
        shapes = np.empty((*lengths.shape[:2], 2), np.int64)
        shapes[:, :, 0] = block.batch_rows
        shapes[:, :, 1] = lengths.max(axis=2)
        return [
            shapes,
            _indices(lengths).ravel(),
            *_values_arrays(block, self.keys, self.dtype, lengths),
        ]

    def tensors(self, parts: list[Any], words: Any) -> dict[str, Any]:
        """The tensors of a batch."""
        shapes, indices, *values = parts
        begin, end, sizes, _ = values
        # Of one dimension: TensorFlow would copy pairs one by one.
        own = _split(tf.reshape(tf.strided_slice(indices, begin * 2, end * 2), [-1, 2]), sizes)
        columns = zip(own, _cut(values, self.dtype, words), tf.unstack(shapes), strict=True)
        return {
            key: tf.SparseTensor(*column) for key, column in zip(self.keys, columns, strict=True)
        }


def _indices(lengths: np.ndarray) -> np.ndarray:
    """For each value its row in the batch, and its place in that row."""
    num_rows = lengths.shape[-1]
    if lengths.max() <= 1:
        # Both numbers as one of twice the size: numpy copies whole runs of those.
        firsts = np.zeros((num_rows, 2), np.int64)
        firsts[:, 0] = np.arange(num_rows)
        every = np.broadcast_to(firsts.view(np.complex128).ravel(), lengths.shape)
        return np.asarray(every[lengths != 0].view(np.int64).reshape(-1, 2))
    ends = ends_of(lengths.ravel())
    indices = np.empty((ends[-1], 2), np.int64)
    rows = np.broadcast_to(np.arange(num_rows), lengths.shape)
    indices[:, 0] = np.repeat(rows.ravel(), lengths.ravel())
    indices[:, 1] = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths.ravel())
    return indices


@dataclass(frozen=True, slots=True)
class Ragged:
    """Columns of any number of values per row, as ragged tensors."""

    keys: Sequence[str]
    dtype: tf.DType
    splits_dtype: tf.DType

    @property
    def parts(self) -> list[Part]:
        """What `arrays` returns."""
        splits = tf.TensorSpec([None, len(self.keys), None], self.splits_dtype)
        return [Part(splits), *_values_parts(self.dtype, len(self.keys))]

    def arrays(self, block: BlockRows) -> list[np.ndarray]:
        """The columns in a block."""
        lengths = _lengths(block, self.keys)
        num_batches, num_columns, num_rows = lengths.shape
        splits = np.zeros(
            (num_batches, num_columns, num_rows + 1), self.splits_dtype.as_numpy_dtype
        )
        np.cumsum(lengths, axis=2, out=splits[:, :, 1:])
        return [splits, *_values_arrays(block, self.keys, self.dtype, lengths)]

    def tensors(self, parts: list[Any], words: Any) -> dict[str, Any]:
        """The tensors of a batch."""
        splits, *values = parts
        columns = zip(_cut(values, self.dtype, words), tf.unstack(splits), strict=True)
        return {
            key: tf.RaggedTensor.from_row_splits(*column, validate=False)
            for key, column in zip(self.keys, columns, strict=True)
        }
