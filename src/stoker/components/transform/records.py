# SPDX-License-Identifier: Apache-2.0
"""Examples in and out of Transform: each process reads and writes its share of the batches."""

import itertools
import os
from collections.abc import Iterator, Sequence

import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.errors import BadData
from stoker.examples.decode import decode
from stoker.examples.encode import encode
from stoker.examples.files import matching_files
from stoker.examples.tfrecord import read_records, write_records

__all__ = ["read_share", "write_share"]

_BATCH_ROWS = 4096
_PREFIX = "transformed_examples"


def read_share(
    folders: Sequence[str], schema: schema_pb2.Schema, share: int, num_shares: int
) -> Iterator[pa.RecordBatch]:
    """Every `num_shares`-th batch of the examples in some folders; the others are not decoded."""
    for path in matching_files(folders):
        records = read_records(path)
        for number in itertools.count():
            batch = list(itertools.islice(records, _BATCH_ROWS))
            if not batch:
                break
            if number % num_shares == share:
                try:
                    yield from decode(batch, schema, batch_rows=_BATCH_ROWS)
                except BadData as error:
                    raise BadData(f"{path}: {error}") from error


def write_share(folder: str, share: int, num_shares: int, batches: Iterator[pa.RecordBatch]) -> int:
    """Write one file of transformed examples, and return how many there are."""
    path = os.path.join(folder, f"{_PREFIX}-{share:05d}-of-{num_shares:05d}.gz")
    return write_records(path, (one.as_py() for batch in batches for one in encode(batch)))
