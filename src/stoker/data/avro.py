# SPDX-License-Identifier: Apache-2.0
"""Avro files to Arrow record batches of typed columns."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import fastavro
import pyarrow as pa

from stoker.data.arrow_features import check_same_types
from stoker.errors import BadData

_BATCH_ROWS = 1 << 12
_PRIMITIVES = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_UNREADABLE: Any = (OSError, EOFError, ValueError, LookupError, TypeError, ArithmeticError)
"""What fastavro raises where a file is none of Avro's, or damaged."""


def check_files(files: Sequence[str]) -> None:
    """Look at all files before one is read: that they have the same types, and a row."""
    schemas = {path: _read_schema(path) for path in files}
    check_same_types(schemas.items())
    if not any(next(read_rows([path]), None) for path in files):
        raise BadData(f"{', '.join(files)}: there is no row. Check the file, and the pattern.")


def read_rows(files: Sequence[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Batches of rows, each with its file, which `check_files` has looked at."""
    for path in files:
        yield from ((path, batch) for batch in _read_batches(path, _read_schema(path)))


def _read_schema(path: str) -> pa.Schema:
    with open(path, "rb") as file:
        try:
            written = fastavro.reader(file).writer_schema
        except _UNREADABLE as error:
            raise _damage(path, error) from error
    if not isinstance(written, dict) or written.get("type") != "record":
        raise BadData(f"{path} holds {written!r:.200}, not records. Write a record per example.")
    named: dict[str, pa.DataType] = {}
    columns = [
        (column["name"], _find_type(column["type"], named, f"{path}, field {column['name']!r}"))
        for column in written["fields"]
    ]
    return pa.schema(columns)


def _find_type(kind: Any, named: dict[str, pa.DataType], where: str) -> pa.DataType:
    """Arrow's type for one of Avro's; a type with a name may be used again by its name."""
    match kind:
        case [*parts]:
            others = [part for part in parts if part != "null"]
            if len(others) < 2:
                return _find_type(others[0] if others else "null", named, where)
        case str() if found := _PRIMITIVES.get(kind) or named.get(kind):
            return found
        case {"logicalType": logical}:
            kind = logical  # fastavro makes dates and decimals of these
        case {"type": "enum" | "fixed" as made, "name": name}:
            named[name] = pa.string() if made == "enum" else pa.binary()
            return named[name]
        case {"type": "array", "items": items}:
            return pa.list_(_find_type(items, named, where))
        case {"type": [*_] | str() as inner} if inner not in ("record", "map"):
            return _find_type(inner, named, where)
    raise BadData(
        f"{where} holds {kind!r:.200}. An example holds integers, floats, text and lists of these: "
        "convert the field first."
    )


def _read_batches(path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with open(path, "rb") as file:
        try:
            reader = fastavro.reader(file)
            while rows := list(itertools.islice(reader, _BATCH_ROWS)):
                yield pa.RecordBatch.from_pylist(rows, schema=schema)
        except _UNREADABLE as error:
            raise _damage(path, error) from error


def _damage(path: str, error: Exception) -> BadData:
    reason = " ".join(str(error).split()).rstrip(". ") or type(error).__name__
    return BadData(f"{path} cannot be read as Avro: {reason}. Write it again, or leave it out.")
