# SPDX-License-Identifier: Apache-2.0
"""Examples in and out of Transform: the batches of a shard, and a file for each.

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

from stoker.any_python.progress import advance_after
from stoker.data.column_file import BLOCK_ROWS, conform
from stoker.data.columns import Columns, read_columns
from stoker.data.decode import decode
from stoker.data.encode import encode
from stoker.data.input_files import matching_files
from stoker.data.row_batches import has_types
from stoker.data.sharding import Shard
from stoker.data.shards import Block, ShardWriter, draft_beside, move_shard, pack
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


def read_shard(schema: schema_pb2.Schema, shard: Shard) -> Iterator[pa.RecordBatch]:
    """The batches of a shard; those of a file that are in other parts of it are not decoded."""
    batches = (
        batch.decode_batch()
        for path in shard.files
        for batch in _batches(path, schema, shard.part, shard.num_parts)
    )
    return advance_after(batches)


def read_sample(
    folders: Sequence[str], schema: schema_pb2.Schema, max_rows: int
) -> list[pa.RecordBatch]:
    """All batches, or so many of them, evenly spread, that there are no more than `max_rows`."""
    batches = (batch for path in list_files(folders) for batch in _batches(path, schema))
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


def write_shard(
    folder: str, number: int, num_shards: int, batches: Iterator[pa.RecordBatch]
) -> None:
    """Write the transformed examples of the shard of this number, to a file that is whole."""
    name = f"{_PREFIX}-{number:05d}-of-{num_shards:05d}.gz"
    with draft_beside(folder) as draft:
        with ShardWriter(os.path.join(draft, name)) as shard:
            for batch in batches:
                shard.write(pack(Block(records=encode(batch), columns=batch)))
        move_shard(os.path.join(draft, name), os.path.join(folder, name))


def list_files(folders: Sequence[str]) -> list[str]:
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
