# SPDX-License-Identifier: Apache-2.0
"""Rows of mapped columns to batches of tensors, equal to what parse_example makes of the records.

place in the stream of rows ─▶ a block: thousands of rows, gathered at once ─▶ its batches

Python is called once per block, so that a batch costs no more than TensorFlow's own work. A block
depends on its place alone: blocks are made in parallel, and an iterator can be saved and restored.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import tensorflow as tf
from tensorflow.python.ops import parsing_config

from stoker.data.column_file import type_of
from stoker.data.encode import as_integers, each, ends_of
from stoker.data.gather import RowReader
from stoker.data.packed_rows import Cells
from stoker.data.parsing import Parsing, Tensors
from stoker.data.pending_calls import PendingCalls
from stoker.data.row_order import Passes, RowOrder
from stoker.data.tensor_messages import serialize_strings

_KINDS = (tf.io.FixedLenFeature, tf.io.VarLenFeature, tf.io.SparseFeature, tf.io.RaggedFeature)
_DTYPES = {pa.int64(): tf.int64, pa.float32(): tf.float32, pa.large_binary(): tf.string}
_ROWS_AT_ONCE = 1 << 15
_BYTES_AT_ONCE = 1 << 25
"""What a block holds at most, unless one batch is more: rows may be whole images."""
_MOST_SERIALIZED = 1 << 30
"""How many bytes of words are handed over as one message, of which none may have 2 GB."""

_EMPTY, _NOTHING = np.array(b"", object), np.empty(0, object)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """Which batches are made of a stream of rows."""

    batch_size: int
    start: int
    """The place of the first row in the stream."""
    stop: int | None
    """The place after the last one; None if there is no end."""
    drop_remainder: bool
    bytes_per_row: int
    """About how large a row is in memory."""

    def rows_of(self, order: RowOrder, number: int, batch: int, *, shifts: bool) -> np.ndarray:
        """The rows of a batch of a pass; with `shifts`, every pass goes on where the last ended."""
        before = number * self.stop if shifts and self.stop else 0
        first = before + self.start + batch * self.batch_size
        last = first + self.batch_size
        return order.rows(first, min(last, before + self.stop) if self.stop else last)

    def places(self) -> tf.data.Dataset:
        """Where each block begins, of how many batches it is, and of how many rows those are."""
        size, start = self.batch_size, self.start
        rows_at_once = min(_ROWS_AT_ONCE, _BYTES_AT_ONCE // max(1, self.bytes_per_row))
        batches_each = max(1, rows_at_once // size)
        if self.stop is None:
            endless = tf.data.Dataset.counter(start, batches_each * size, dtype=tf.int64)
            return endless.map(lambda place: (place, np.int64(batches_each), np.int64(size)))
        num_batches, rest = divmod(max(0, self.stop - start), size)
        blocks = [
            (start + first * size, min(batches_each, num_batches - first), size)
            for first in range(0, num_batches, batches_each)
        ]
        if rest and not self.drop_remainder:
            blocks.append((start + num_batches * size, 1, rest))
        return tf.data.Dataset.from_tensor_slices(
            tuple(np.array(blocks, np.int64).reshape(-1, 3).T)
        )


def parse_batches(
    reader: RowReader,
    order: RowOrder,
    parsing: Parsing,
    batches: Batches,
    *,
    num_parallel_calls: int,
    passes: Passes | None = None,
) -> tf.data.Dataset:
    """Batches of the rows of a stream, as `parsing` would make them of their records.

    With `passes`, every pass over a dataset that ends goes on in the stream where the last one
    ended.
    """
    blocks = _Blocks(reader, order, parsing)
    places = batches.places()
    if passes and batches.stop:
        places = _shift_by_passes(places, passes, batches.stop)
    dataset = places.map(blocks.parse, num_parallel_calls).unbatch()
    if blocks.by_batch:
        tensors, _ = dataset.element_spec
        dataset = _with_spec((tensors, blocks.sparse), dataset).map(blocks.finish)
    return _with_spec(
        parsing.element_spec(batches.batch_size if batches.drop_remainder else None), dataset
    )


class _Blocks:
    """Blocks of rows: gathered by Python, then made tensors by TensorFlow."""

    def __init__(self, reader: RowReader, order: RowOrder, parsing: Parsing) -> None:
        self._reader, self._order, self._parsing = reader, order, parsing
        self._columns = _columns_of(parsing.features)
        self.sparse = {one.key: one.spec for one in self._columns if isinstance(one, _Sparse)}
        # Features of several columns are joined by TensorFlow itself: sparse ones batch by batch,
        # ragged ones, and so usually all, for a whole block.
        self._features: dict[bool, dict[str, Any]] = {True: {}, False: {}}
        for key, feature in parsing.features.items():
            is_sparse = isinstance(feature, tf.io.VarLenFeature | tf.io.SparseFeature)
            self._features[is_sparse][key] = feature
        features = parsing.features.values()
        self.by_batch = any(isinstance(feature, tf.io.SparseFeature) for feature in features)

    def parse(self, place: Any, num_batches: Any, batch_rows: Any) -> Any:
        """The batches of the block at a place; if it has to be, `finish` makes them whole."""
        size = [place, num_batches, batch_rows]
        dtypes = [dtype for column in self._columns for dtype in column.dtypes]
        arrays = iter(tf.numpy_function(self._read, size, dtypes, stateful=False))
        tensors = {}
        for column in self._columns:
            own = list(itertools.islice(arrays, len(column.dtypes)))
            tensors[column.key] = column.batch(own, num_batches, batch_rows)
        sparse = {key: tensors.pop(key) for key in self.sparse}
        joined = _join(self._features[False], tensors)
        return (joined, sparse) if self.by_batch else self._parsing.arrange({**joined, **sparse})

    def finish(self, tensors: Tensors, sparse: Tensors) -> Any:
        """One batch, as parse_example would have returned it, arranged."""
        return self._parsing.arrange({**tensors, **_join(self._features[True], sparse)})

    def _read(self, *size: Any) -> list[np.ndarray]:
        return _calls().call(lambda: self._gather(*map(int, size)))

    def _gather(self, place: int, num_batches: int, batch_rows: int) -> list[np.ndarray]:
        rows = self._order.rows(place, place + num_batches * batch_rows)
        cells = self._reader.read(rows, [column.key for column in self._columns])
        return [
            array
            for column in self._columns
            for array in column.arrays(_Rows(self._reader, rows, batch_rows, cells[column.key]))
        ]


def _join(features: dict[str, Any], tensors: Tensors) -> Tensors:
    """What parse_example would make of its parts."""
    joined: Tensors = parsing_config._construct_tensors_for_composite_features(features, tensors)
    return joined


@functools.cache
def _calls() -> PendingCalls:
    return PendingCalls()


def can_read(features: dict[str, Any], schema: pa.Schema) -> bool:
    """Whether columns have the types that the features ask for; parse_example refuses others."""
    kinds = [(type_of(schema, column.key), column.dtype) for column in _columns_of(features)]
    return all(kind == pa.null() or _DTYPES[kind.value_type] == dtype for kind, dtype in kinds)


def _with_spec(element_spec: Any, dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The dataset with more said about its elements, of which it knows the encoded form."""
    variant = tf.data.experimental.to_variant(dataset)
    return tf.data.experimental.from_variant(variant, element_spec)


def _shift_by_passes(places: tf.data.Dataset, passes: Passes, rows_each: int) -> tf.data.Dataset:
    """The places, moved on by so many rows for every pass before."""

    def rows_before(_: Any) -> np.int64:
        return np.int64(_calls().call(passes.begin) * rows_each)

    def move(rows: Any) -> tf.data.Dataset:
        return places.map(lambda place, *size: (place + rows, *size))

    asked = tf.data.Dataset.from_tensors(0).map(
        lambda zero: tf.ensure_shape(
            # Said to be stateless, or TensorFlow would refuse to save an iterator.
            tf.numpy_function(rows_before, [zero], tf.int64, stateful=False),
            [],
        )
    )
    return asked.flat_map(move)


def _columns_of(features: dict[str, Any]) -> "list[_Dense | _Sparse | _Ragged]":
    params = parsing_config._ParseOpParams.from_features(features, _KINDS)
    shapes = [shape.as_list() for shape in params.dense_shapes]
    defaults = [params.dense_defaults.get(key) for key in params.dense_keys]
    return [
        *map(_Dense, params.dense_keys, params.dense_types, shapes, defaults),
        *map(_Sparse, params.sparse_keys, params.sparse_types),
        *map(_Ragged, params.ragged_keys, params.ragged_value_types, params.ragged_split_types),
    ]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Some rows of one column."""

    reader: RowReader
    rows: np.ndarray
    batch_rows: int
    cells: Cells

    @property
    def lengths(self) -> np.ndarray:
        """How many values each row has."""
        return np.broadcast_to(self.cells.lengths, len(self.rows))

    def values(self, dtype: tf.DType) -> list[np.ndarray]:
        """All values; bytes as a tensor that is serialized or, if that is empty, as objects."""
        values, words = self.cells.values, self.cells.words
        if dtype != tf.string:  # a column without values may have no type
            return [values if len(values) else np.empty(0, dtype.as_numpy_dtype)]
        if words is None:
            return [_EMPTY, values if len(values) else _NOTHING]
        taken = words.take(as_integers(values))
        if taken.nbytes > _MOST_SERIALIZED:
            return [_EMPTY, _as_objects(taken)]
        return [np.array(serialize_strings(taken), object), _NOTHING]


def _as_objects(words: pa.LargeBinaryArray) -> np.ndarray:
    objects = np.empty(len(words), object)
    objects[:] = each(words)
    return objects


def _value_dtypes(dtype: tf.DType) -> list[tf.DType]:
    return [tf.string, tf.string] if dtype == tf.string else [dtype]


def _values(arrays: Sequence[Any]) -> Any:
    """The values of a column as a vector."""
    *serialized, values = arrays
    values = tf.ensure_shape(values, [None])
    if not serialized:
        return values
    (tensor,) = serialized
    tensor = tf.ensure_shape(tensor, [])
    return tf.cond(
        tf.strings.length(tensor) > 0,
        lambda: tf.ensure_shape(tf.io.parse_tensor(tensor, tf.string), [None]),
        lambda: values,
    )


@dataclass(frozen=True, slots=True)
class _Dense:
    """A column of which every row has the same shape."""

    key: str
    dtype: tf.DType
    shape: list[int]
    default: Any

    @property
    def dtypes(self) -> list[tf.DType]:
        return _value_dtypes(self.dtype)

    def arrays(self, rows: _Rows) -> list[np.ndarray]:
        size = math.prod(self.shape)
        if isinstance(rows.cells.lengths, int) and rows.cells.lengths == size:
            return rows.values(self.dtype)
        return replace(rows, cells=self._fill(rows, size)).values(self.dtype)

    def _fill(self, rows: _Rows, size: int) -> Cells:
        """The cells with the default where a row lacks the feature."""
        lengths, given = rows.lengths, rows.cells
        absent = lengths == 0
        absent[absent] = rows.reader.missing(rows.rows[absent], self.key)
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
        values = given.values
        if given.words is not None:
            values = _as_objects(given.words.take(as_integers(values)))
        filled = np.empty((len(lengths), size), self.dtype.as_numpy_dtype)
        filled[~absent] = values.reshape(-1, size)
        filled[absent] = self.default
        return Cells(filled.ravel(), size)

    def batch(self, arrays: Sequence[Any], num_batches: Any, batch_rows: Any) -> Any:
        return tf.reshape(_values(arrays), [num_batches, batch_rows, *self.shape])


@dataclass(frozen=True, slots=True)
class _Sparse:
    """A column of any number of values per row, as a sparse tensor as wide as its longest row."""

    key: str
    dtype: tf.DType

    @property
    def dtypes(self) -> list[tf.DType]:
        return [tf.int64, tf.int64, *_value_dtypes(self.dtype)]

    @property
    def spec(self) -> Any:
        return tf.SparseTensorSpec([None, None], self.dtype)

    def arrays(self, rows: _Rows) -> list[np.ndarray]:
        lengths = rows.lengths
        widths = lengths.reshape(-1, rows.batch_rows).max(axis=1)
        shapes = np.stack([np.full(len(widths), rows.batch_rows), widths], axis=1)
        return [ends_of(lengths), shapes, *rows.values(self.dtype)]

    def batch(self, arrays: Sequence[Any], num_batches: Any, batch_rows: Any) -> Any:
        """The sparse tensors of all batches, encoded as tf.data does, each with its own width."""
        splits, shapes, *values = arrays
        splits.set_shape([None])
        shapes.set_shape([None, 2])
        firsts = tf.range(num_batches + 1) * batch_rows
        encoded = _encode(
            tf.SparseTensor(
                *tf.raw_ops.RaggedTensorToSparse(
                    rt_nested_splits=[firsts, splits], rt_dense_values=_values(values)
                )
            )
        )

        def set_shapes() -> Any:
            every = tf.where(tf.ones_like(shapes, tf.bool))
            wanted = _encode(tf.SparseTensor(every, tf.reshape(shapes, [-1]), [num_batches, 2]))
            return tf.stack([encoded[:, 0], encoded[:, 1], wanted[:, 1]], axis=1)

        # All are as wide as the widest, and most often that is right.
        return tf.cond(tf.reduce_all(shapes == shapes[0]), lambda: encoded, set_shapes)


def _encode(sparse: Any) -> Any:
    """For each row of a sparse tensor the three parts of a smaller one: indices, values, shape."""
    return tf.io.serialize_many_sparse(sparse, tf.variant)


@dataclass(frozen=True, slots=True)
class _Ragged:
    """A column of any number of values per row, as a ragged tensor."""

    key: str
    dtype: tf.DType
    splits_dtype: tf.DType

    @property
    def dtypes(self) -> list[tf.DType]:
        return [self.splits_dtype, *_value_dtypes(self.dtype)]

    def arrays(self, rows: _Rows) -> list[np.ndarray]:
        splits = ends_of(rows.lengths)
        return [splits.astype(self.splits_dtype.as_numpy_dtype), *rows.values(self.dtype)]

    def batch(self, arrays: Sequence[Any], num_batches: Any, batch_rows: Any) -> Any:
        splits, *values = arrays
        rows = tf.RaggedTensor.from_row_splits(
            _values(values), tf.ensure_shape(splits, [None]), validate=False
        )
        firsts = tf.cast(tf.range(num_batches + 1) * batch_rows, self.splits_dtype)
        return tf.RaggedTensor.from_row_splits(rows, firsts, validate=False)
