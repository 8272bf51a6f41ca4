# SPDX-License-Identifier: Apache-2.0
"""Rows of mapped columns to record batches, in the order and the sizes that options ask for."""

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from stoker.any_python.dataset import RecordBatchesOptions
from stoker.data.column_file import BLOCK_ROWS, conform, type_of
from stoker.data.columns import Columns
from stoker.data.encode import as_integers
from stoker.data.row_order import RowOrder


def has_types(columns: Columns, schema: pa.Schema) -> bool:
    """Whether the columns have the types that a schema asks for, or none."""
    found = [type_of(columns.schema, name) for name in schema.names]
    return all(
        kind in (wanted, pa.null()) for kind, wanted in zip(found, schema.types, strict=True)
    )


def read_batches_of_rows(
    columns: Columns, order: RowOrder, schema: pa.Schema, options: RecordBatchesOptions
) -> Iterator[pa.RecordBatch]:
    """All rows of so many epochs, with the columns of the schema."""
    size = options.batch_size
    for rows in _rows(order, options):
        taken = _take(columns, rows)
        for start in range(0, len(rows), size):
            yield conform(taken.slice(start, size), schema)


def _rows(order: RowOrder, options: RecordBatchesOptions) -> Iterator[np.ndarray]:
    """The rows of the next batches, as many of those as make a block."""
    size, num_epochs = options.batch_size, options.num_epochs
    step = max(1, BLOCK_ROWS // size) * size
    if num_epochs is None:
        starts = itertools.count(0, step) if order.num_rows else ()
        yield from (order.rows(start, start + step) for start in starts)
        return
    stop = num_epochs * order.num_rows
    if options.drop_final_batch:
        stop -= stop % size
    yield from (order.rows(start, min(start + step, stop)) for start in range(0, stop, step))


def _take(columns: Columns, rows: np.ndarray) -> pa.RecordBatch:
    """Rows in any order: each block's own are taken at once, then all are put in their order."""
    blocks = np.searchsorted(columns.first_rows, rows, side="right") - 1
    by_block = np.argsort(blocks, kind="stable")
    found, starts = np.unique(blocks[by_block], return_index=True)
    parts = []
    for block, own in zip(found.tolist(), np.split(rows[by_block], starts[1:]), strict=True):
        within = own - columns.first_rows[block]
        parts.append(columns.block(block).take(as_integers(within)))
    places = np.empty(len(rows), np.int64)
    places[by_block] = np.arange(len(rows))
    return pa.Table.from_batches(parts).take(as_integers(places)).combine_chunks().to_batches()[0]
