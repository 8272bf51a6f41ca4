# SPDX-License-Identifier: Apache-2.0
"""Parquet files to Arrow record batches of features: integers, floats, bytes, and lists of them."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from stoker.data.arrow_features import as_feature, feature_type
from stoker.errors import BadData

_BATCH_ROWS = 1 << 14
_BATCH_CELLS = 1 << 22


def read_rows(files: Sequence[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Batches as they are in the files, each with its file; all files are looked at first."""
    num_rows = 0
    seen: dict[str, tuple[pa.DataType, str]] = {}
    for path in files:
        file = _open(path)
        num_rows += file.metadata.num_rows
        for field in file.schema_arrow:
            kind = feature_type(field.type, f"{path}, column {field.name!r}")
            before, where = seen.setdefault(field.name, (kind, path))
            if kind != before:
                raise BadData(
                    f"{path}: the column {field.name!r} holds {field.type}, but in {where} it does "
                    "not. Files of one split need the same types."
                )
    if not num_rows:
        raise BadData(f"{', '.join(files)}: there is no row.")
    for path in files:
        yield from ((path, batch) for batch in _batches(path))


def _batches(path: str) -> Iterator[pa.RecordBatch]:
    file = _open(path)
    batch_rows = max(256, min(_BATCH_ROWS, _BATCH_CELLS // (len(file.schema_arrow) or 1)))
    batches = file.iter_batches(batch_size=batch_rows, use_threads=False)
    num_rows = 0
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as error:
            raise BadData(
                f"{path} cannot be read as Parquet from row {num_rows} on: {_reason(error)}."
            ) from error
        if batch is None:
            return
        yield batch
        num_rows += batch.num_rows


def _open(path: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise BadData(f"{path} cannot be read as Parquet: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(". ")


def columns_of(rows: pa.RecordBatch, path: str) -> pa.RecordBatch:
    """Every column as a list of values; null where a row has none."""
    columns = [
        as_feature(column, f"{path}, column {name!r}")
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, rows.schema.names)
