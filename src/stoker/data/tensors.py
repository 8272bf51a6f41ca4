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
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import tensorflow as tf
from tensorflow.python.data.ops import map_op
from tensorflow.python.ops import parsing_config

from stoker.data.column_file import type_of
from stoker.data.encode import as_array, as_integers, each, ends_of
from stoker.data.gather import RowReader
from stoker.data.packed_rows import Cells, Facts
from stoker.data.parsing import Parsing, Tensors
from stoker.data.pending_calls import PendingCalls
from stoker.data.row_order import Passes, RowOrder
from stoker.data.tensor_messages import serialize_strings

_KINDS = (tf.io.FixedLenFeature, tf.io.VarLenFeature, tf.io.SparseFeature, tf.io.RaggedFeature)
_DTYPES = {pa.int64(): tf.int64, pa.float32(): tf.float32, pa.large_binary(): tf.string}
_ROWS_AT_ONCE = 1 << 15
_BYTES_AT_ONCE = 1 << 25
"""What a block holds at most, unless one batch is more: rows may be whole images."""


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
    # In a block every op waits for the one before: threads would only look for work in vain.
    dataset = map_op._ParallelMapDataset(
        *(places, blocks.parse, num_parallel_calls),
        deterministic=None,
        use_inter_op_parallelism=False,
        preserve_cardinality=True,
    ).unbatch()
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
        self._columns = {one.values.key: one for one in _columns_of(parsing.features, reader)}
        self.sparse = {
            key: column.spec for key, column in self._columns.items() if isinstance(column, _Sparse)
        }
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
        dtypes = [dtype for column in self._columns.values() for dtype in column.dtypes]
        arrays = iter(tf.numpy_function(self._read, size, dtypes, stateful=False))
        tensors = {}
        for key, column in self._columns.items():
            own = list(itertools.islice(arrays, len(column.dtypes)))
            tensors[key] = column.batch(own, num_batches, batch_rows)
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
        cells = self._reader.read(rows, list(self._columns))
        return [
            array
            for key, column in self._columns.items()
            for array in column.arrays(_Rows(self._reader, rows, batch_rows, cells[key]))
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
    params = _parse_params(features)
    wanted = [
        *zip(params.dense_keys, params.dense_types, strict=True),
        *zip(params.sparse_keys, params.sparse_types, strict=True),
        *zip(params.ragged_keys, params.ragged_value_types, strict=True),
    ]
    kinds = [(type_of(schema, key), dtype) for key, dtype in wanted]
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


@dataclass(frozen=True, slots=True)
class _Values:
    """How a column's values come from Python to TensorFlow: as they are."""

    key: str
    dtype: tf.DType

    @property
    def sent(self) -> tf.DType:
        """The type of what comes."""
        return self.dtype

    def array(self, cells: Cells) -> np.ndarray:
        """What Python sends."""
        # A column without values may have no type.
        return cells.values if len(cells.values) else np.empty(0, self.dtype.as_numpy_dtype)

    def tensor(self, array: Any) -> Any:
        """The values, a vector."""
        return tf.ensure_shape(array, [None])


class _SerializedWords(_Values):
    """Words come as a tensor that is serialized, which is faster than as objects of Python."""

    def array(self, cells: Cells) -> np.ndarray:
        if cells.words is None:
            words = as_array(cells.values.tolist())
        else:
            words = cells.words.take(as_integers(cells.values))
        return np.array(serialize_strings(words), object)

    def tensor(self, array: Any) -> Any:
        serialized = tf.ensure_shape(array, [])
        return tf.ensure_shape(tf.io.parse_tensor(serialized, tf.string), [None])


@dataclass(frozen=True, slots=True)
class _NumberedWords(_Values):
    """Words come as their numbers, and TensorFlow looks them up in a table."""

    table: Any

    @property
    def sent(self) -> tf.DType:
        return tf.int32

    def array(self, cells: Cells) -> np.ndarray:
        return cells.values.astype(np.int32)

    def tensor(self, array: Any) -> Any:
        # tf.gather takes half as long again for strings.
        return tf.gather_nd(self.table, tf.reshape(array, [-1, 1]))


def _values_of(key: str, dtype: tf.DType, facts: Facts, *, complete: bool = True) -> _Values:
    """How a column's values come; if it is not `complete`, defaults are among them."""
    if dtype != tf.string or facts.words is None:
        return _Values(key, dtype)
    # In a graph of TensorFlow 1 the table would be a part of every copy of that.
    if facts.words.codes is None or not complete or not tf.executing_eagerly():
        return _SerializedWords(key, dtype)
    table = tf.io.parse_tensor(serialize_strings(facts.words.words), tf.string)
    return _NumberedWords(key, dtype, table)


def _parse_params(features: dict[str, Any]) -> Any:
    return parsing_config._ParseOpParams.from_features(features, _KINDS)


def _columns_of(features: dict[str, Any], reader: RowReader) -> "list[_Dense | _Sparse | _Ragged]":
    params = _parse_params(features)
    facts = reader.facts([*params.dense_keys, *params.sparse_keys, *params.ragged_keys])
    columns: list[_Dense | _Sparse | _Ragged] = []
    for key, dtype, shape in zip(
        params.dense_keys, params.dense_types, params.dense_shapes, strict=True
    ):
        size = math.prod(shape.as_list())
        complete = facts[key].least == facts[key].most == size
        values = _values_of(key, dtype, facts[key], complete=complete)
        columns.append(_Dense(values, shape.as_list(), params.dense_defaults.get(key)))
    for key, dtype in zip(params.sparse_keys, params.sparse_types, strict=True):
        values = _values_of(key, dtype, facts[key])
        columns.append(_Sparse(values, is_single=facts[key].most <= 1))
    for key, dtype, splits_dtype in zip(
        params.ragged_keys, params.ragged_value_types, params.ragged_split_types, strict=True
    ):
        columns.append(_Ragged(_values_of(key, dtype, facts[key]), splits_dtype))
    return columns


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


@dataclass(frozen=True, slots=True)
class _Dense:
    """A column of which every row has the same shape."""

    values: _Values
    shape: list[int]
    default: Any

    @property
    def dtypes(self) -> list[tf.DType]:
        return [self.values.sent]

    def arrays(self, rows: _Rows) -> list[np.ndarray]:
        size = math.prod(self.shape)
        if isinstance(rows.cells.lengths, int) and rows.cells.lengths == size:
            return [self.values.array(rows.cells)]
        return [self.values.array(self._fill(rows, size))]

    def _fill(self, rows: _Rows, size: int) -> Cells:
        """The cells with the default where a row lacks the feature."""
        key, lengths, given = self.values.key, rows.lengths, rows.cells
        absent = lengths == 0
        absent[absent] = rows.reader.missing(rows.rows[absent], key)
        if absent.any() and self.default is None:
            raise ValueError(
                f"Feature {key!r} is required, and an example lacks it. In the schema, give "
                "it a default value, or no fixed shape."
            )
        if (wrong := lengths[~absent & (lengths != size)]).size:
            raise ValueError(
                f"Feature {key!r} has {size} values by the schema, and {wrong[0]} in an "
                "example. In the schema, give it no fixed shape."
            )
        values = given.values
        if given.words is not None:
            values = _as_objects(given.words.take(as_integers(values)))
        filled = np.empty((len(lengths), size), self.values.dtype.as_numpy_dtype)
        filled[~absent] = values.reshape(-1, size)
        filled[absent] = self.default
        return Cells(filled.ravel(), size)

    def batch(self, arrays: Sequence[Any], num_batches: Any, batch_rows: Any) -> Any:
        return tf.reshape(self.values.tensor(*arrays), [num_batches, batch_rows, *self.shape])


def _as_objects(words: pa.LargeBinaryArray) -> np.ndarray:
    objects = np.empty(len(words), object)
    objects[:] = each(words)
    return objects


@dataclass(frozen=True, slots=True)
class _Sparse:
    """A column of any number of values per row, as a sparse tensor as wide as its longest row."""

    values: _Values
    is_single: bool
    """Whether no row of the split has more than one value."""

    @property
    def dtypes(self) -> list[tf.DType]:
        return [tf.bool if self.is_single else tf.int64, tf.int64, tf.int64, self.values.sent]

    @property
    def spec(self) -> Any:
        return tf.SparseTensorSpec([None, None], self.values.dtype)

    def arrays(self, rows: _Rows) -> list[np.ndarray]:
        lengths = rows.lengths
        widths, numbers = np.unique(
            lengths.reshape(-1, rows.batch_rows).max(axis=1), return_inverse=True
        )
        shapes = np.stack([np.full(len(widths), rows.batch_rows), widths], axis=1)
        where = lengths != 0 if self.is_single else ends_of(lengths)
        return [where, shapes, numbers, self.values.array(rows.cells)]

    def batch(self, arrays: Sequence[Any], num_batches: Any, batch_rows: Any) -> Any:
        """The sparse tensors of all batches, encoded as tf.data does, each with its own width."""
        where, shapes, numbers, array = arrays
        values = self.values.tensor(array)
        if self.is_single:
            size = [num_batches, batch_rows, 1]
            whole = tf.SparseTensor(tf.where(tf.reshape(where, size)), values, size)
        else:
            firsts = tf.range(num_batches + 1) * batch_rows
            splits = [firsts, tf.ensure_shape(where, [None])]
            parts = tf.raw_ops.RaggedTensorToSparse(rt_nested_splits=splits, rt_dense_values=values)
            whole = tf.SparseTensor(*parts)
        # All were as wide as the widest.
        shapes = tf.ensure_shape(shapes, [None, 2])
        every = tf.where(tf.ones_like(shapes, tf.bool))
        wanted = _encode(
            tf.SparseTensor(every, tf.reshape(shapes, [-1]), tf.shape(shapes, tf.int64))
        )
        encoded, numbers = _encode(whole), tf.ensure_shape(numbers, [None])
        return tf.stack([encoded[:, 0], encoded[:, 1], tf.gather(wanted[:, 1], numbers)], axis=1)


def _encode(sparse: Any) -> Any:
    """For each row of a sparse tensor the three parts of a smaller one: indices, values, shape."""
    return tf.io.serialize_many_sparse(sparse, tf.variant)


@dataclass(frozen=True, slots=True)
class _Ragged:
    """A column of any number of values per row, as a ragged tensor."""

    values: _Values
    splits_dtype: tf.DType

    @property
    def dtypes(self) -> list[tf.DType]:
        return [self.splits_dtype, self.values.sent]

    def arrays(self, rows: _Rows) -> list[np.ndarray]:
        splits = ends_of(rows.lengths).astype(self.splits_dtype.as_numpy_dtype)
        return [splits, self.values.array(rows.cells)]

    def batch(self, arrays: Sequence[Any], num_batches: Any, batch_rows: Any) -> Any:
        splits, array = arrays
        rows = tf.RaggedTensor.from_row_splits(
            self.values.tensor(array), tf.ensure_shape(splits, [None]), validate=False
        )
        firsts = tf.cast(tf.range(num_batches + 1) * batch_rows, self.splits_dtype)
        return tf.RaggedTensor.from_row_splits(rows, firsts, validate=False)
