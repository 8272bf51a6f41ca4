# SPDX-License-Identifier: Apache-2.0
"""Serialized tf.Examples back to Arrow columns, through tfx_bsl's decoder."""

import itertools
from collections.abc import Iterable, Iterator

import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx_bsl.coders import example_coder

from stoker.errors import BadData

_BATCH_ROWS = 4096


def decode(
    records: Iterable[bytes],
    schema: schema_pb2.Schema | None = None,
    *,
    batch_rows: int = _BATCH_ROWS,
    path: str = "",
) -> Iterator[pa.RecordBatch]:
    """Record batches with the columns of the schema, or with those that are found.

    The file at `path` is named if a record is not a tf.Example.
    """
    decoder = example_coder.ExamplesToRecordBatchDecoder(schema and schema.SerializeToString())
    remaining = iter(records)
    while batch := list(itertools.islice(remaining, batch_rows)):
        try:
            yield decoder.DecodeBatch(batch)
        except RuntimeError as error:
            where = f"{path}: " if path else ""
            raise BadData(
                f"{where}A record is not the tf.Example that it should be: {error}"
            ) from error
