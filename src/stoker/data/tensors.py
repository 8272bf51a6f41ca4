# SPDX-License-Identifier: Apache-2.0
"""Rows of mapped columns to batches of tensors, equal to what parse_example makes of the records.

place in the stream of rows ─▶ a block: thousands of rows, gathered at once ─▶ its batches

Python is called once per block, so that a batch costs no more than TensorFlow's own work: a few
ops that cut it out of the block. A block depends on its place alone: blocks are made in parallel,
and an iterator can be saved and restored.
"""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import tensorflow as tf
from tensorflow.python.data.ops import map_op
from tensorflow.python.ops import parsing_config

from stoker.data.block_parts import BlockRows, Dense, Kind, Ragged, Sparse
from stoker.data.block_words import BlockWords, parse_words
from stoker.data.column_file import type_of
from stoker.data.gather import RowReader
from stoker.data.parsing import Parsing
from stoker.data.pending_calls import PendingCalls
from stoker.data.row_order import Passes, RowOrder

_KINDS = (tf.io.FixedLenFeature, tf.io.VarLenFeature, tf.io.SparseFeature, tf.io.RaggedFeature)
_DTYPES = {pa.int64(): tf.int64, pa.float32(): tf.float32, pa.large_binary(): tf.string}
_ROWS_AT_ONCE = 1 << 14
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
    dataset = places.map(blocks.read, num_parallel_calls).flat_map(blocks.cut)
    if batches.stop is None:
        endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
        dataset = dataset.apply(endless)
    return _with_spec(
        parsing.element_spec(batches.batch_size if batches.drop_remainder else None), dataset
    )


class _Blocks:
    """Blocks of rows: gathered by Python, then cut into batches by TensorFlow."""

    def __init__(self, reader: RowReader, order: RowOrder, parsing: Parsing) -> None:
        self._reader, self._order, self._parsing = reader, order, parsing
        self._kinds = _kinds_of(parsing.features)
        self._columns = [key for kind in self._kinds for key in kind.keys]

    def read(self, place: Any, num_batches: Any, batch_rows: Any) -> Any:
        """The block at a place: for each kind of tensors its parts, and the words."""
        size = [place, num_batches, batch_rows]
        specs = [part.spec for kind in self._kinds for part in kind.parts]
        dtypes = [*(spec.dtype for spec in specs), tf.string, tf.string]
        *arrays, serialized, objects = tf.numpy_function(self._read, size, dtypes, stateful=False)
        for array, spec in zip(arrays, specs, strict=True):
            array.set_shape(spec.shape)
        return tuple(arrays), parse_words(serialized, objects)

    def cut(self, arrays: tuple[Any, ...], words: Any) -> tf.data.Dataset:
        """The batches of a block."""
        parts = [part for kind in self._kinds for part in kind.parts]
        whole = dict(enumerate(arrays))
        own = {at: whole.pop(at) for at, part in enumerate(parts) if part.is_by_batch}

        def finish(own: dict[int, Any]) -> Any:
            every = {**whole, **own}
            given = (every[at] for at in range(len(parts)))
            tensors: dict[str, Any] = {}
            for kind in self._kinds:
                tensors |= kind.tensors(list(itertools.islice(given, len(kind.parts))), words)
            # Features of several columns are joined by TensorFlow itself.
            return self._parsing.arrange(
                parsing_config._construct_tensors_for_composite_features(
                    self._parsing.features, tensors
                )
            )

        # On one thread: to hand these small ops to others takes longer than to run them.
        slices = tf.data.Dataset.from_tensor_slices(own)
        return map_op._MapDataset(slices, finish, use_inter_op_parallelism=False)

    def _read(self, *size: Any) -> list[np.ndarray]:
        return _calls().call(lambda: self._gather(*map(int, size)))

    def _gather(self, place: int, num_batches: int, batch_rows: int) -> list[np.ndarray]:
        rows = self._order.rows(place, place + num_batches * batch_rows)
        block = BlockRows(
            self._reader,
            rows,
            batch_rows,
            cells=self._reader.read(rows, self._columns),
            words=BlockWords(),
        )
        arrays = [array for kind in self._kinds for array in kind.arrays(block)]
        return [*arrays, *block.words.arrays()]


@functools.cache
def _calls() -> PendingCalls:
    return PendingCalls()


def can_read(features: dict[str, Any], schema: pa.Schema) -> bool:
    """Whether columns have the types that the features ask for; parse_example refuses others."""
    kinds = [
        (type_of(schema, key), kind.dtype) for kind in _kinds_of(features) for key in kind.keys
    ]
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


def _kinds_of(features: dict[str, Any]) -> list[Kind]:
    """What the columns become: those of one kind and type together, since one op cuts them all."""
    params = parsing_config._ParseOpParams.from_features(features, _KINDS)
    shapes = [shape.as_list() for shape in params.dense_shapes]
    defaults = [params.dense_defaults.get(key) for key in params.dense_keys]
    dense = map(Dense, params.dense_keys, params.dense_types, shapes, defaults)
    sparse = _group(params.sparse_keys, params.sparse_types)
    splits = zip(params.ragged_value_types, params.ragged_split_types, strict=True)
    ragged = _group(params.ragged_keys, list(splits))
    return [
        *dense,
        *(Sparse(keys, dtype) for dtype, keys in sparse.items()),
        *(Ragged(keys, *dtypes) for dtypes, keys in ragged.items()),
    ]


def _group(keys: Sequence[str], groups: Sequence[Any]) -> dict[Any, list[str]]:
    found: dict[Any, list[str]] = {}
    for key, group in zip(keys, groups, strict=True):
        found.setdefault(group, []).append(key)
    return found
