# SPDX-License-Identifier: Apache-2.0
"""Examples in and out of Transform: each process reads and writes its share of the batches.

Both are written as TFRecords and as columns, and columns are read where there are any. The batches
are the same then, only faster.
"""

import collections
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx_bsl.coders.example_coder import ExamplesToRecordBatchDecoder

from stoker.any_python.progress import report_batches
from stoker.data.column_file import BLOCK_ROWS, conform
from stoker.data.columns import Columns, find_num_rows, read_columns
from stoker.data.decode import decode
from stoker.data.encode import encode
from stoker.data.input_files import matching_files
from stoker.data.row_batches import has_types
from stoker.data.shards import Block, ShardWriter, pack
from stoker.data.tfrecord import fit_batch_rows, is_gzip, read_records

_MOST_BATCH_ROWS = 4096
_BUFFER_BYTES = 8 << 20
_PREFIX = "transformed_examples"
_One = TypeVar("_One")

assert BLOCK_ROWS % _MOST_BATCH_ROWS == 0, "a batch of columns lies in one block"


@dataclass(frozen=True, slots=True)
class _Batch:
    """Some examples of a file that are not decoded before they are asked for."""

    num_small_rows: int
    """How many rows it has, or as many as would take this much memory if they were small."""
    decode_batch: Callable[[], pa.RecordBatch]


def read_share(
    folders: Sequence[str],
    schema: schema_pb2.Schema,
    share: int,
    num_shares: int,
    *,
    doing: str = "reading",
) -> Iterator[pa.RecordBatch]:
    """Every `num_shares`-th batch of the examples in some folders; the others are not decoded."""
    files = _files(folders)
    batches = (
        batch.decode_batch()
        for path in files
        for batch in _batches(path, schema, share, num_shares)
    )
    if share:
        return batches
    # The first process reports for all: they are about as far as it is.
    total = find_num_rows(files)
    return report_batches(batches, doing, total=total, processes=num_shares)


def read_sample(
    folders: Sequence[str], schema: schema_pb2.Schema, max_rows: int
) -> list[pa.RecordBatch]:
    """All batches, or so many of them, evenly spread, that there are no more than `max_rows`."""
    batches = (batch for path in _files(folders) for batch in _batches(path, schema))
    kept = keep_spread(batches, lambda batch: batch.num_small_rows, max_rows)
    return [batch.decode_batch() for batch in kept]


def keep_spread(many: Iterable[_One], size: Callable[[_One], int], most: int) -> list[_One]:
    """All, or so many of them, evenly spread, that their sizes add up to no more than `most`."""
    kept: list[_One] = []
    every = 1
    for number, one in enumerate(many):
        if number % every == 0:
            kept.append(one)
        while sum(map(size, kept)) > most and len(kept) > 1:
            kept, every = kept[::2], every * 2
    return kept


def write_share(
    folder: str, share: int, num_shares: int, batches: Iterator[pa.RecordBatch]
) -> None:
    """Write one file of transformed examples."""
    path = os.path.join(folder, f"{_PREFIX}-{share:05d}-of-{num_shares:05d}.gz")
    with ShardWriter(path) as shard:
        for batch in batches:
            shard.write(pack(Block(records=encode(batch), columns=batch)))


def _files(folders: Sequence[str]) -> list[str]:
    """All files; those of a folder that is named twice are there twice."""
    return [path for folder in folders for path in matching_files(folder)]


def _batches(
    path: str, schema: schema_pb2.Schema, share: int = 0, num_shares: int = 1
) -> Iterator[_Batch]:
    """A share of the batches of a file, from its columns or else from its records."""
    wanted = ExamplesToRecordBatchDecoder(schema.SerializeToString()).ArrowSchema()
    columns = read_columns([path], decode_missing=False)
    batch_rows = fit_batch_rows(path, _MOST_BATCH_ROWS)
    growth = _MOST_BATCH_ROWS // batch_rows
    if columns is None or not has_types(columns, wanted):
        # Records of other types than the schema's complain when they are decoded.
        for records in _records(path, batch_rows, share, num_shares):
            size = len(records) * growth
            yield _Batch(size, partial(next, decode(records, schema, path=path)))
        return
    for start in range(share * batch_rows, columns.num_rows, num_shares * batch_rows):
        num_rows = min(batch_rows, columns.num_rows - start)
        read = partial(_slice_columns, columns, start, batch_rows, wanted)
        yield _Batch(num_rows * growth, read)


def _slice_columns(
    columns: Columns, start: int, batch_rows: int, wanted: pa.Schema
) -> pa.RecordBatch:
    block = columns.block(start // BLOCK_ROWS)
    return conform(block.slice(start % BLOCK_ROWS, batch_rows), wanted)


def _records(path: str, batch_rows: int, share: int, num_shares: int) -> Iterator[np.ndarray]:
    """Serialized examples; read by TensorFlow, which is faster than we are."""
    import tensorflow as tf

    files = tf.data.TFRecordDataset(path, "GZIP" if is_gzip(path) else "", _BUFFER_BYTES)
    try:
        yield from files.batch(batch_rows).shard(num_shares, share).as_numpy_iterator()
    except tf.errors.DataLossError:
        collections.deque(read_records(path), maxlen=0)  # raises an error that names the place
        raise
