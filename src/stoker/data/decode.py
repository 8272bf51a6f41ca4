# SPDX-License-Identifier: Apache-2.0
"""Serialized tf.Examples back to Arrow columns, through tfx_bsl's decoder."""

import itertools
from collections.abc import Iterable, Iterator

import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx_bsl.coders import example_coder

from stoker.data.files import matching_files
from stoker.data.tfrecord import read_records
from stoker.errors import BadData

__all__ = ["decode", "read_table"]

_BATCH_ROWS = 4096


def decode(
    records: Iterable[bytes],
    schema: schema_pb2.Schema | None = None,
    *,
    batch_rows: int = _BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """Record batches with the columns of the schema, or with those that are found."""
    decoder = example_coder.ExamplesToRecordBatchDecoder(schema and schema.SerializeToString())
    remaining = iter(records)
    while batch := list(itertools.islice(remaining, batch_rows)):
        try:
            yield decoder.DecodeBatch(batch)
        except RuntimeError as error:
            raise BadData(f"A record is not the tf.Example that it should be: {error}") from error


def read_table(
    file_patterns: str | Iterable[str], schema: schema_pb2.Schema | None = None
) -> pa.Table:
    """All examples of some files, columns in the schema's order, or else sorted by name."""
    batches: list[pa.Table] = []
    for path in matching_files(file_patterns):
        try:
            decoded = list(decode(read_records(path), schema))
        except BadData as error:
            raise BadData(f"{path}: {error}") from error
        batches.extend(pa.Table.from_batches([batch]) for batch in decoded)
    if not batches:
        return pa.table({})
    try:
        table = pa.concat_tables(batches, promote_options="default")
    except pa.ArrowInvalid as error:
        raise BadData(f"{file_patterns}: a feature changes its type: {error}") from error
    return table if schema else table.select(sorted(table.column_names))
