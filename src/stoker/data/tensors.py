# SPDX-License-Identifier: Apache-2.0
"""Rows of mapped columns to batches of tensors, equal to what parse_example makes of the records.

place in the stream of rows ─▶ a block: thousands of rows, gathered at once ─▶ its batches

Python is called once per block, so that a batch costs no more than TensorFlow's own work. A block
depends on its place alone: blocks are made in parallel, and an iterator can be saved and restored.
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import tensorflow as tf
from tensorflow.python.ops import parsing_config

from stoker.data.gather import Cells, RowReader, spread
from stoker.data.pending_calls import PendingCalls
from stoker.data.row_order import Passes, RowOrder

FeatureSpec = dict[str, Any]
"""What tf.io.parse_example takes: FixedLen, VarLen, Sparse and Ragged features by key."""

_Tensors = dict[str, Any]
_KINDS = (tf.io.FixedLenFeature, tf.io.VarLenFeature, tf.io.SparseFeature, tf.io.RaggedFeature)
_DTYPES = {pa.int64(): tf.int64, pa.float32(): tf.float32, pa.large_binary(): tf.string}
_ROWS_AT_ONCE = 1 << 15


def parse_batches(
    reader: RowReader,
    order: RowOrder,
    features: FeatureSpec,
    arrange: Callable[[_Tensors], Any],
    element_spec: Any,
    *,
    batch_size: int,
    start: int,
    stop: int | None,
    drop_remainder: bool,
    num_parallel_calls: int,
    passes: Passes | None = None,
) -> tf.data.Dataset:
    """The rows at the places `start` to `stop` of the stream, parsed; endless if `stop` is None.

    `arranged` makes elements of `element_spec` out of what parse_example would return. With
    `passes`, every pass over a dataset that ends goes on in the stream where the last one ended.
    """
    calls = _calls()
    columns = _columns_of(features)
    dtypes = [dtype for column in columns for dtype in column.dtypes]
    # Features of several columns are joined by TensorFlow itself: sparse ones batch by batch,
    # ragged ones, and so usually all, for a whole block.
    by_batch = any(isinstance(feature, tf.io.SparseFeature) for feature in features.values())

    def gather(place: int, num_batches: int, batch_rows: int) -> list[np.ndarray]:
        rows = order.rows(place, place + num_batches * batch_rows)
        cells = reader.read(rows, [column.key for column in columns])
        return [
            array
            for column in columns
            for array in column.arrays(_Rows(reader, rows, batch_rows, cells[column.key]))
        ]

    def read(*size: Any) -> list[np.ndarray]:
        return calls.call(lambda: gather(*map(int, size)))

    def block(place: Any, num_batches: Any, batch_rows: Any) -> Any:
        size = [place, num_batches, batch_rows]
        arrays = iter(tf.numpy_function(read, size, dtypes, stateful=False))
        tensors = {
            column.key: column.batch(
                list(itertools.islice(arrays, len(column.dtypes))), num_batches, batch_rows
            )
            for column in columns
        }
        return tensors if by_batch else join(tensors)

    def join(tensors: _Tensors) -> Any:
        join = parsing_config._construct_tensors_for_composite_features
        return arrange(join(features, tensors))

    places = _places(start, stop, batch_size, drop_remainder)
    if passes and stop:
        places = _shift_by_passes(places, passes, stop, calls)
    dataset = places.map(block, num_parallel_calls).unbatch()
    if by_batch:
        dataset = _with_spec({column.key: column.spec for column in columns}, dataset).map(join)
    return _with_spec(element_spec, dataset)


@functools.cache
def _calls() -> PendingCalls:
    return PendingCalls()


def can_read(features: FeatureSpec, schema: pa.Schema) -> bool:
    """Whether columns have the types that the features ask for; parse_example refuses others."""
    for column in _columns_of(features):
        place = schema.get_field_index(column.key)
        kind = pa.null() if place < 0 else schema.field(place).type
        if not pa.types.is_null(kind) and _DTYPES[kind.value_type] != column.dtype:
            return False
    return True


def _with_spec(element_spec: Any, dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The dataset with more said about its elements, of which it knows the encoded form."""
    variant = tf.data.experimental.to_variant(dataset)
    return tf.data.experimental.from_variant(variant, element_spec)


def _places(start: int, stop: int | None, batch_size: int, drop: bool) -> tf.data.Dataset:
    """Where each block begins, of how many batches it is, and of how many rows those are."""
    batches_each = max(1, _ROWS_AT_ONCE // batch_size)
    if stop is None:
        endless = tf.data.Dataset.counter(start, batches_each * batch_size, dtype=tf.int64)
        return endless.map(lambda place: (place, np.int64(batches_each), np.int64(batch_size)))
    num_batches, rest = divmod(max(0, stop - start), batch_size)
    sizes = [
        (start + first * batch_size, min(batches_each, num_batches - first), batch_size)
        for first in range(0, num_batches, batches_each)
    ]
    if rest and not drop:
        sizes.append((start + num_batches * batch_size, 1, rest))
    return tf.data.Dataset.from_tensor_slices(tuple(np.array(sizes, np.int64).reshape(-1, 3).T))


def _shift_by_passes(
    places: tf.data.Dataset, passes: Passes, rows_each: int, calls: PendingCalls
) -> tf.data.Dataset:
    """The places, moved on by so many rows for every pass before."""

    def rows_before(_: Any) -> np.int64:
        return np.int64(calls.call(passes.begin) * rows_each)

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


def _columns_of(features: FeatureSpec) -> "list[_Dense | _Sparse | _Ragged]":
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
        """All values; bytes as words, and which word each value is."""
        values, codes = self.cells.values, self.cells.codes
        if not len(values):  # perhaps of a column that has no type
            values = np.empty(0, dtype.as_numpy_dtype)
        if dtype != tf.string:
            return [values]
        return [values, np.arange(len(values)) if codes is None else codes.astype(np.int64)]


def _value_dtypes(dtype: tf.DType) -> list[tf.DType]:
    return [tf.string, tf.int64] if dtype == tf.string else [dtype]


def _values(arrays: Sequence[Any]) -> Any:
    """The values of a column as a vector."""
    vectors = [tf.ensure_shape(array, [None]) for array in arrays]
    return vectors[0] if len(vectors) == 1 else tf.gather(*vectors)


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

    @property
    def spec(self) -> Any:
        return tf.TensorSpec([None, *self.shape], self.dtype)

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
        values = given.values if given.codes is None else given.values.take(given.codes)
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
        row = np.repeat(np.arange(len(lengths)), lengths)
        place = spread(np.zeros(len(lengths), np.int64), lengths)
        indices = np.stack([*np.divmod(row, rows.batch_rows), place], axis=1)
        widths = lengths.reshape(-1, rows.batch_rows).max(axis=1)
        shapes = np.stack([np.full(len(widths), rows.batch_rows), widths], axis=1)
        return [indices, shapes, *rows.values(self.dtype)]

    def batch(self, arrays: Sequence[Any], num_batches: Any, batch_rows: Any) -> Any:
        """The sparse tensors of all batches, encoded as tf.data does, each with its own width."""
        indices, shapes, *values = arrays
        indices, shapes = tf.ensure_shape(indices, [None, 3]), tf.ensure_shape(shapes, [None, 2])
        shape = [num_batches, batch_rows, tf.reduce_max(shapes[:, 1])]
        encoded = _encode(tf.SparseTensor(indices, _values(values), shape))
        every = tf.where(tf.ones_like(shapes, tf.bool))
        wanted = _encode(tf.SparseTensor(every, tf.reshape(shapes, [-1]), [num_batches, 2]))
        return tf.stack([encoded[:, 0], encoded[:, 1], wanted[:, 1]], axis=1)


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

    @property
    def spec(self) -> Any:
        return tf.RaggedTensorSpec([None, None], self.dtype, 1, self.splits_dtype)

    def arrays(self, rows: _Rows) -> list[np.ndarray]:
        splits = np.concatenate(([0], np.cumsum(rows.lengths)))
        return [splits.astype(self.splits_dtype.as_numpy_dtype), *rows.values(self.dtype)]

    def batch(self, arrays: Sequence[Any], num_batches: Any, batch_rows: Any) -> Any:
        splits, *values = arrays
        rows = tf.RaggedTensor.from_row_splits(
            _values(values), tf.ensure_shape(splits, [None]), validate=False
        )
        firsts = tf.cast(tf.range(num_batches + 1) * batch_rows, self.splits_dtype)
        return tf.RaggedTensor.from_row_splits(rows, firsts, validate=False)
