# SPDX-License-Identifier: Apache-2.0
"""Parquet files to Arrow record batches of features: integers, floats, bytes, and lists of them."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from stoker.data.arrow_features import check_same_types
from stoker.errors import BadData

_BATCH_ROWS = 1 << 14
_BATCH_CELLS = 1 << 22


def check_files(files: Sequence[str]) -> None:
    """Look at all files before one is read: that they have the same types, and a row."""
    looked_at = [(file.schema_arrow, file.metadata.num_rows) for file in map(_open, files)]
    check_same_types(zip(files, (schema for schema, _ in looked_at), strict=True))
    if not any(num_rows for _, num_rows in looked_at):
        raise BadData(f"{', '.join(files)}: there is no row. Check the file, and the pattern.")


def read_rows(files: Sequence[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Batches as they are in the files, each with its file, which `check_files` has looked at."""
    for path in files:
        yield from ((path, batch) for batch in _batches(path))


def count_rows(files: Sequence[str]) -> int:
    """How many rows there are, by what the files say of themselves."""
    return sum(_open(path).metadata.num_rows for path in files)


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
                f"{path} cannot be read as Parquet from row {num_rows} on: {_reason(error)}. "
                "Write it again."
            ) from error
        if batch is None:
            return
        yield batch
        num_rows += batch.num_rows


def _open(path: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise BadData(
            f"{path} cannot be read as Parquet: {_reason(error)}. Write it again, or give another "
            "pattern."
        ) from error


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(". ")
