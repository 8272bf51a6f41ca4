# SPDX-License-Identifier: Apache-2.0
"""Examples in and out of Transform: each process reads and writes its share of the batches."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.errors import BadData
from stoker.examples.decode import decode
from stoker.examples.encode import encode
from stoker.examples.files import matching_files
from stoker.examples.tfrecord import read_records, write_records

__all__ = ["encoder", "read_share", "write_share"]

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


def write_share(
    folder: str,
    schema: schema_pb2.Schema,
    share: int,
    num_shares: int,
    batches: Iterator[pa.RecordBatch],
) -> int:
    """Write one file of transformed examples; `schema` is theirs. Returns how many there are."""
    path = os.path.join(folder, f"{_PREFIX}-{share:05d}-of-{num_shares:05d}.gz")
    to_records = encoder(schema)
    return write_records(path, itertools.chain.from_iterable(map(to_records, batches)))


def encoder(schema: schema_pb2.Schema) -> Callable[[pa.RecordBatch], Iterable[bytes]]:
    """What makes serialized tf.Examples of transformed batches."""
    from tfx_bsl.coders.example_coder import RecordBatchToExamplesEncoder

    of_nested_lists = RecordBatchToExamplesEncoder(schema)

    def to_records(batch: pa.RecordBatch) -> Iterable[bytes]:
        if any(pa.types.is_large_list(column.type.value_type) for column in batch.columns):
            return of_nested_lists.encode(batch)  # type: ignore[no-any-return]
        return (record.as_py() for record in encode(batch))

    return to_records
