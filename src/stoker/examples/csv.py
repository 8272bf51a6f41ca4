# SPDX-License-Identifier: Apache-2.0
"""CSV files to Arrow record batches, with the types that TFX gives their columns.

A column is int64 if every cell in it is an integer, else float if every cell is a number, else
bytes. An empty cell is a missing value. Since the last row may change a type, files are read twice:
once to learn the types, once for the values.
"""

import csv
import enum
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
from isal import igzip, isal_zlib

from stoker.errors import BadData
from stoker.examples.encode import as_lists

__all__ = ["Kind", "infer_kinds", "read_csv"]

_BLOCK_BYTES = 16 * 1024 * 1024  # no row may be longer
_UNREADABLE: Any = (OSError, EOFError, isal_zlib.error)
_END = "\x03 end of file"  # put after the last line, where an open quote swallows it
_INT64 = range(-(2**63), 2**63)

# What Arrow and Python read alike. Anything else, such as "+1", " 1" or "nan", is left to Python.
_PLAIN_INT = r"^-?[0-9]{1,18}$"
_PLAIN_FLOAT = r"^-?[0-9]{1,18}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,2})?$"


class Kind(enum.IntEnum):
    """What a column holds; a wider kind has a higher number."""

    EMPTY = 0
    INT = 1
    FLOAT = 2
    BYTES = 3


def read_csv(files: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of all files, in order; every column is a list of at most one value."""
    kinds = infer_kinds(files)
    for path in files:
        for cells in _read_cells(path, list(kinds)):
            columns = [as_lists(_values(cells.column(name), kind)) for name, kind in kinds.items()]
            yield pa.RecordBatch.from_arrays(columns, list(kinds))


def infer_kinds(files: Sequence[str]) -> dict[str, Kind]:
    """The kind of each column, over all rows of all files."""
    names = _read_header(files[0])
    kinds = dict.fromkeys(names, Kind.EMPTY)
    num_rows = 0
    for path in files:
        if (header := _read_header(path)) != names:
            raise BadData(
                f"{path} has the columns {header}, but {files[0]} has {names}. "
                "Files of one split need the same header."
            )
        _check_quotes(path, len(names))
        for cells in _read_cells(path, names):
            num_rows += cells.num_rows
            for name, kind in kinds.items():
                if kind < Kind.BYTES:
                    kinds[name] = max(kind, _kind(cells.column(name)))
    if not num_rows:
        raise BadData(f"{', '.join(files)}: there is a header, but no row below it.")
    return kinds


def _read_header(path: str) -> list[str]:
    try:
        with _open(path, "rt") as lines:
            names = next(csv.reader(lines), [])
    except _UNREADABLE as error:
        raise BadData(f"{path} cannot be read as CSV: {error}.") from error
    if not names:
        raise BadData(f"{path} is empty: it needs a first line with the names of the columns.")
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise BadData(f"{path}, line 1: the column {repeated[0]!r} is there more than once.")
    return names


def _open(path: str, mode: str) -> IO[Any]:
    opener = igzip.open if path.endswith(".gz") else open
    if mode == "rb":
        return opener(path, mode)
    return opener(path, mode, encoding="utf-8-sig", errors="surrogateescape", newline="")


def _read_cells(path: str, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches of text cells, null where a cell is empty."""
    try:
        with arrow_csv.open_csv(
            path,
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        ) as batches:
            yield from batches
    except (pa.ArrowInvalid, OSError) as error:
        raise BadData(_diagnosis(path, len(names)) or f"{path}: {error}.") from error


def _diagnosis(path: str, num_columns: int) -> str | None:
    """What is wrong with the first bad row, and its line; None if rows and cells are sound."""
    line = 1
    try:
        with _open(path, "rt") as lines:
            rows = csv.reader(itertools.chain(lines, [_END]))
            for row in rows:
                if row != [_END] and (wrong := _wrong_with(row, num_columns)):
                    return f"{path}, line {line}: {wrong}"
                line = rows.line_num + 1
    except (csv.Error, *_UNREADABLE):
        return None
    return None


def _wrong_with(row: list[str], num_columns: int) -> str | None:
    if row and row[-1].endswith(_END):
        return "a quote that opens in this row is never closed."
    if row and len(row) != num_columns:
        return (
            f"the row has {len(row)} cells, but the header has {num_columns}. "
            "Is a quote or a comma missing?"
        )
    if any("\udc80" <= letter <= "\udcff" for cell in row for letter in cell):
        return "the text is not UTF-8. Save the file as UTF-8."
    return None


def _check_quotes(path: str, num_columns: int) -> None:
    """Refuse a quote that is never closed: Arrow would read the rest of the file as one cell."""
    try:
        with _open(path, "rb") as file:
            chunks = iter(functools.partial(file.read, _BLOCK_BYTES), b"")
            num_quotes = sum(chunk.count(b'"') for chunk in chunks)
    except _UNREADABLE as error:
        raise BadData(f"{path} cannot be read: {error}.") from error
    if num_quotes % 2 and (wrong := _diagnosis(path, num_columns)):
        raise BadData(wrong)


def _kind(cells: pa.Array) -> Kind:
    """The narrowest kind that holds every cell."""
    cells = cells.drop_null()
    integers = pc.match_substring_regex(cells, _PLAIN_INT)
    rest = cells.filter(pc.invert(integers))
    floats = pc.match_substring_regex(rest, _PLAIN_FLOAT)
    odd = rest.filter(pc.invert(floats))
    kind = Kind.EMPTY if not len(cells) else Kind.INT if len(odd) == len(rest) else Kind.FLOAT
    for cell in odd.unique():
        kind = max(kind, _kind_of_cell(cell.as_py().encode()))
        if kind == Kind.BYTES:
            break
    return kind


def _kind_of_cell(cell: bytes) -> Kind:
    try:
        return Kind.INT if int(cell) in _INT64 else Kind.BYTES
    except ValueError:
        pass
    try:
        float(cell)
    except ValueError:
        return Kind.BYTES
    return Kind.FLOAT


def _values(cells: pa.Array, kind: Kind) -> pa.Array:
    match kind:
        case Kind.EMPTY:
            return pa.nulls(len(cells))
        case Kind.BYTES:
            return cells.cast(pa.binary()).cast(pa.large_binary())
        case Kind.INT:
            if _all_match(cells, _PLAIN_INT):
                return cells.cast(pa.int64())
            return pa.array([cell and int(cell) for cell in cells.to_pylist()], pa.int64())
        case Kind.FLOAT:
            return _floats(cells)


def _floats(cells: pa.Array) -> pa.Array:
    if _all_match(cells, _PLAIN_FLOAT):
        doubles = cells.cast(pa.float64())
    else:
        doubles = pa.array([cell and float(cell) for cell in cells.to_pylist()], pa.float64())
    return doubles.cast(pa.float32())  # a number beyond its range is infinite, as in TFX


def _all_match(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern), min_count=0).as_py())
