# SPDX-License-Identifier: Apache-2.0
"""Examples in and out of Transform: each process reads and writes its share of the batches."""

import collections
import os
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.errors import BadData
from stoker.examples.decode import decode
from stoker.examples.encode import encode
from stoker.examples.files import matching_files
from stoker.examples.tfrecord import is_gzip, read_records, write_records

__all__ = ["read_sample", "read_share", "write_share"]

_BATCH_ROWS = 4096
_BUFFER_BYTES = 8 << 20
_PREFIX = "transformed_examples"


def read_share(
    folders: Sequence[str], schema: schema_pb2.Schema, share: int, num_shares: int
) -> Iterator[pa.RecordBatch]:
    """Every `num_shares`-th batch of the examples in some folders; the others are not decoded."""
    for path in _files(folders):
        for records in _batches(path, share, num_shares):
            yield _decoded(path, records, schema)


def read_sample(
    folders: Sequence[str], schema: schema_pb2.Schema, max_rows: int
) -> list[pa.RecordBatch]:
    """All batches, or so many of them, evenly spread, that there are no more than `max_rows`."""
    kept: list[tuple[str, np.ndarray]] = []
    every = 1
    batches = ((path, one) for path in _files(folders) for one in _batches(path))
    for number, (path, records) in enumerate(batches):
        if number % every == 0:
            kept.append((path, records))
        while sum(len(one) for _, one in kept) > max_rows and len(kept) > 1:
            kept, every = kept[::2], every * 2
    return [_decoded(path, records, schema) for path, records in kept]


def write_share(folder: str, share: int, num_shares: int, batches: Iterator[pa.RecordBatch]) -> int:
    """Write one file of transformed examples, and return how many there are."""
    path = os.path.join(folder, f"{_PREFIX}-{share:05d}-of-{num_shares:05d}.gz")
    return write_records(path, (one.as_py() for batch in batches for one in encode(batch)))


def _files(folders: Sequence[str]) -> list[str]:
    """All files; those of a folder that is named twice are there twice."""
    return [path for folder in folders for path in matching_files(folder)]


def _batches(path: str, share: int = 0, num_shares: int = 1) -> Iterator[np.ndarray]:
    """Serialized examples; read by TensorFlow, which is faster than we are."""
    import tensorflow as tf

    files = tf.data.TFRecordDataset(path, "GZIP" if is_gzip(path) else "", _BUFFER_BYTES)
    try:
        yield from files.batch(_BATCH_ROWS).shard(num_shares, share).as_numpy_iterator()
    except tf.errors.DataLossError:
        collections.deque(read_records(path), maxlen=0)  # raises an error that names the place
        raise


def _decoded(path: str, records: np.ndarray, schema: schema_pb2.Schema) -> pa.RecordBatch:
    try:
        (batch,) = decode(records, schema, batch_rows=_BATCH_ROWS)
    except BadData as error:
        raise BadData(f"{path}: {error}") from error
    return batch
