# SPDX-License-Identifier: Apache-2.0
"""CSV files to Arrow record batches, with the types that TFX gives their columns.

A column is int64 if every cell in it is an integer, else float if every cell is a number, else
bytes. An empty cell is a missing value. The first rows suggest the types; if a later row is a
surprise, all files are scanned for the types, and read again from the start.
"""

import contextlib
import csv
import dataclasses
import enum
import itertools
import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from stoker.data.csv_header import (
    NOT_UTF8,
    describe_other_header,
    is_utf8,
    list_columns_of_most_numbers,
    open_text,
    read_header,
)
from stoker.data.encode import as_lists
from stoker.data.input_files import UNREADABLE, open_any
from stoker.errors import BadData

_BLOCK_BYTES = 4 << 20
_BYTES_PER_COLUMN = 16 << 10  # of a block, which costs something for each column
_MAX_BLOCK_BYTES = 256 << 20  # no row may be longer
_MAX_CELL_LETTERS = 16 << 20
_INT64 = range(-(2**63), 2**63)
_QUOTE = ord('"')

# What is surely a number to Python too. Anything else, such as "+1", " 1" or "nan", is left to it.
_PLAIN_INT = r"^-?[0-9]{1,18}$"
_PLAIN_FLOAT = r"^-?[0-9]{1,18}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,2})?$"


class Kind(enum.IntEnum):
    """What a column holds; a wider kind has a higher number."""

    EMPTY = 0
    INT = 1
    FLOAT = 2
    HUGE = 3
    """Numbers, of which an integer has more than 64 bits: bytes, as in TFX."""
    BYTES = 4


class Surprise(Exception):
    """A row is not what the rows before it suggested: of a wider kind, or longer than a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvDialect:
    """How files are written."""

    delimiter: str = ","
    names: tuple[str, ...] = ()
    """Of the columns; without them, each file has them in its first line."""


_USUAL = CsvDialect()


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvLayout:
    """What there is to know about some files before their values are read."""

    dialect: CsvDialect = _USUAL
    kinds: dict[str, Kind]
    """Of each column, over all rows of all files."""
    block_bytes: int
    """How much of a file is read at once: no row is longer."""
    first_file: str
    """The one whose header all others have to have."""


def guess(files: Sequence[str], dialect: CsvDialect = _USUAL) -> CsvLayout:
    """What the first rows suggest; what is made of the cells then may be a Surprise."""
    table = start_layout(files, dialect)
    first_cells = itertools.islice(read_cells(files, table), 1)
    return _widen(table, first_cells)


def scan(files: Sequence[str], dialect: CsvDialect = _USUAL) -> CsvLayout:
    """What all rows say; no row is a Surprise then."""
    return scan_some(start_layout(files, dialect), files, may_be_empty=False)


def scan_some(table: CsvLayout, files: Sequence[str], *, may_be_empty: bool = True) -> CsvLayout:
    """What the rows of these files say, beyond what is known already."""
    while True:
        try:
            return _widen(table, read_cells(files, table, may_be_empty=may_be_empty))
        except Surprise:
            table = dataclasses.replace(table, block_bytes=8 * table.block_bytes)


def merge_layouts(one: CsvLayout, other: CsvLayout) -> CsvLayout:
    """What two layouts of files with the same header say together."""
    kinds = {name: max(kind, other.kinds[name]) for name, kind in one.kinds.items()}
    block_bytes = max(one.block_bytes, other.block_bytes)
    return dataclasses.replace(one, kinds=kinds, block_bytes=block_bytes)


def start_layout(files: Sequence[str], dialect: CsvDialect = _USUAL) -> CsvLayout:
    """What the first header says."""
    names = _read_header(files[0], dialect)
    block_bytes = max(_BLOCK_BYTES, min(len(names) * _BYTES_PER_COLUMN, 8 * _BLOCK_BYTES))
    kinds = dict.fromkeys(names, Kind.EMPTY)
    return CsvLayout(dialect=dialect, kinds=kinds, block_bytes=block_bytes, first_file=files[0])


def _widen(table: CsvLayout, batches: Iterable[pa.RecordBatch]) -> CsvLayout:
    kinds = dict(table.kinds)
    for cells in batches:
        for name, column in zip(kinds, cells.columns, strict=True):
            kinds[name] = _widen_kind(column, kinds[name])
    return dataclasses.replace(table, kinds=kinds)


def read_cells(
    files: Sequence[str], table: CsvLayout, *, may_be_empty: bool = False
) -> Iterator[pa.RecordBatch]:
    """Batches of text cells, null where a cell is empty; what is wrong with a file is told."""
    names = list(table.kinds)
    num_rows = 0
    for path in files:
        header = _read_header(path, table.dialect)
        if other := describe_other_header(path, header, table.first_file, names):
            raise BadData(other)
        for cells in _read_file(path, table):
            num_rows += cells.num_rows
            yield cells
    if not num_rows and not may_be_empty:
        raise BadData(
            f"{', '.join(files)}: there is a header, but no row below it."
            " Add rows, or check the pattern."
        )


def _read_file(path: str, table: CsvLayout) -> Iterator[pa.RecordBatch]:
    quotes = _Quotes(path, table.dialect.delimiter)
    try:
        with contextlib.closing(quotes):
            yield from _batches(quotes, table)
    except pa.ArrowInvalid as error:
        wrong = _diagnose(path, table)
        if not wrong and "straddl" in str(error) and table.block_bytes < _MAX_BLOCK_BYTES:
            raise Surprise(f"{path} has a row of more than {table.block_bytes} bytes") from error
        raise BadData(wrong or f"{path}: {error}. Correct the file.") from error
    except UNREADABLE as error:
        raise BadData(
            f"{path} cannot be read beyond byte {quotes.num_bytes} (uncompressed): {error}. "
            "Copy it here again."
        ) from error
    # Arrow reads all from a quote to the next one as one cell, or to the end of the file.
    if quotes.are_odd and (wrong := _diagnose(path, table)):
        raise BadData(wrong)


def columns_of(
    cells: pa.RecordBatch,
    table: CsvLayout,
    *,
    empty_is_null: bool = False,
    overflows: "Overflows | None" = None,
) -> pa.RecordBatch:
    """The values of text cells; every column is a list of at most one value."""
    columns = []
    for (name, kind), column in zip(table.kinds.items(), cells.columns, strict=True):
        values = _values(column, kind)
        if overflows and kind == Kind.FLOAT and (cell := _find_infinite(column, values)):
            why = "is beyond a 32-bit float: it is infinite"
            overflows.say(name, partial(operator.eq, cell), why)
        columns.append(as_lists(values, empty_is_null=empty_is_null))
    return pa.RecordBatch.from_arrays(columns, list(table.kinds))


class Overflows:
    """Says which cells are not the numbers that they seem, and where: one for each column."""

    def __init__(
        self, files: Sequence[str], warn: Callable[[str, str], Any], dialect: CsvDialect = _USUAL
    ) -> None:
        self._files = files
        self._warn = warn
        self._dialect = dialect
        self._said: set[str] = set()
        self._saying = threading.Lock()

    def look_at(self, table: CsvLayout) -> None:
        """Say which columns are bytes for the sake of one integer, or of a few words."""
        for name, kind in table.kinds.items():
            if kind == Kind.HUGE:
                self.say(name, _is_huge, "is beyond 64 bits: the column holds bytes, not numbers")
        texts = {name for name, kind in table.kinds.items() if kind == Kind.BYTES}
        if texts:
            delimiter = self._dialect.delimiter
            found = list_columns_of_most_numbers(self._files[0], list(table.kinds), delimiter)
            for name in filter(texts.__contains__, found):
                self.say(name, _is_word, "is no number: the column holds bytes, not numbers")

    def say(self, column: str, is_meant: Callable[[str], bool], why: str) -> None:
        """Say where the first cell of a column is that is meant, unless one has been said."""
        with self._saying:
            if column in self._said:
                return
            self._said.add(column)
        for path in self._files:
            for line, cell in _read_column(path, column, self._dialect):
                if is_meant(cell):
                    where = f"{path}, line {line}, column {column!r}"
                    self._warn(column, f"{where}: {cell} {why}")
                    return


def _find_infinite(cells: pa.Array, values: pa.Array) -> str | None:
    """The first cell with a number that is infinite only because it is so large."""
    large = cells.filter(pc.is_inf(values))
    numbers = large.filter(pc.match_substring_regex(large, "[0-9]"))
    return numbers[0].as_py() if len(numbers) else None


def _is_word(cell: str) -> bool:
    return bool(cell.strip()) and _kind_of_cell(cell.encode()) == Kind.BYTES


def _is_huge(cell: str) -> bool:
    return _kind_of_cell(cell.encode()) == Kind.HUGE


def _read_column(path: str, column: str, dialect: CsvDialect) -> Iterator[tuple[int, str]]:
    """The cells of one column, with the lines that their rows begin in."""
    place = _read_header(path, dialect).index(column)
    with _allow_large_cells(), open_text(path) as lines:
        rows = csv.reader(lines, delimiter=dialect.delimiter)
        line = 1
        for row in rows:
            if len(row) > place and (line > 1 or dialect.names):
                yield line, row[place]
            line = rows.line_num + 1


def _read_header(path: str, dialect: CsvDialect) -> list[str]:
    return list(dialect.names) or read_header(path, dialect.delimiter)


class _Quotes:
    """A file whose quotes are looked at while Arrow reads it."""

    def __init__(self, path: str, delimiter: str) -> None:
        self.num_bytes = 0
        self.closed = False
        self._file = open_any(path)
        self._number = 0
        self._last = b"\n"
        self._misplaced = False
        # Before a quote that opens a cell, and after one that closes it, may stand one of these.
        self._may_be_beside = np.isin(np.arange(256), list(b'"\r\n' + delimiter.encode()))

    @property
    def are_odd(self) -> bool:
        """Whether one is not closed, opens in the middle of a cell, or closes there."""
        return self._misplaced or self._number % 2 == 1

    def close(self) -> None:
        self.closed = True
        self._file.close()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        if b'"' in data or self._last == b'"':
            self._look_at(np.frombuffer(self._last + data, np.uint8))
        self._last = data[-1:] or self._last
        self.num_bytes += len(data)
        return data

    def _look_at(self, text: np.ndarray) -> None:
        """Look at the quotes of a text; the first letter was the last one of the text before."""
        places = np.flatnonzero(text[1:] == _QUOTE) + 1
        opening = places[self._number % 2 :: 2]
        closing = places[1 - self._number % 2 :: 2]
        if text[0] == _QUOTE and self._number and self._number % 2 == 0:
            closing = np.concatenate(([0], closing))
        closing = closing[closing < len(text) - 1]  # of one at the end, the next text will tell
        beside = np.concatenate((text[opening - 1], text[closing + 1]))
        self._misplaced |= not self._may_be_beside[beside].all()
        self._number += len(places)


def _batches(file: Any, table: CsvLayout) -> Iterator[pa.RecordBatch]:
    with arrow_csv.open_csv(
        file,
        read_options=arrow_csv.ReadOptions(
            use_threads=False, block_size=table.block_bytes, column_names=table.dialect.names
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=table.dialect.delimiter, newlines_in_values=True
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(table.kinds, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    ) as batches:
        yield from batches


def _diagnose(path: str, table: CsvLayout) -> str | None:
    """What is wrong with the first bad row, and its line; None if rows and cells are sound."""
    with contextlib.suppress(*UNREADABLE), _allow_large_cells(), open_text(path) as lines:
        for line, row, wrong in _read_strictly(lines, table.dialect):
            if problem := wrong or _find_problem(row, len(table.kinds)):
                return f"{path}, line {line}: {problem}"
    return None


@contextlib.contextmanager
def _allow_large_cells() -> Iterator[None]:
    usual_limit = csv.field_size_limit(_MAX_CELL_LETTERS)
    try:
        yield
    finally:
        csv.field_size_limit(usual_limit)


def _read_strictly(
    lines: IO[str], dialect: CsvDialect
) -> Iterator[tuple[int, list[str], str | None]]:
    """The rows with the lines that they begin in, and what is wrong with their quotes."""
    rows = csv.reader(lines, delimiter=dialect.delimiter, strict=True)
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield line, [], _find_quote_problem(str(error), line, rows.line_num)
        else:
            if row is None:
                return
            yield line, row, None


def _find_quote_problem(error: str, first_line: int, last_line: int) -> str | None:
    if "unexpected end" in error:
        return "a quote that opens in this row is never closed."
    if "field larger" in error:
        return (
            f"a cell has more than {_MAX_CELL_LETTERS:,} letters, to line {last_line} and beyond. "
            "Is a quote missing? No cell may be larger."
        )
    if last_line > first_line:  # in one line, it is a cell such as "5" inches, which may be meant
        return f"a quote that opens in this row is closed in line {last_line}, within other text."
    return None


def _find_problem(row: list[str], num_columns: int) -> str | None:
    if row and len(row) != num_columns:
        return (
            f"the row has {len(row)} cells, but the header has {num_columns}. "
            "Is a quote or a comma missing?"
        )
    return None if is_utf8(row) else NOT_UTF8


def _widen_kind(cells: pa.Array, kind: Kind) -> Kind:
    """The narrowest kind that holds every cell, and all that `kind` holds."""
    if kind == Kind.BYTES or cells.null_count == len(cells):
        return kind
    if kind <= Kind.INT and _integers(cells) is not None:
        return Kind.INT
    if kind == Kind.FLOAT and _doubles(cells) is not None:
        return Kind.FLOAT
    return max(kind, _kind(cells.drop_null()))


def _integers(cells: pa.Array) -> pa.Array | None:
    """All cells as integers, at Arrow's speed; None if some may be something else to Python."""
    text = _text(cells)
    if b"x" in text or b"X" in text:  # Arrow would read 0x1F
        return None
    try:
        return cells.cast(pa.int64())
    except pa.ArrowInvalid:
        return None


def _doubles(cells: pa.Array) -> pa.Array | None:
    """All cells as floats, likewise."""
    if b"(" in _text(cells):  # Arrow would read nan(1)
        return None
    try:
        doubles = cells.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    largest = pc.max(pc.abs(doubles)).as_py()
    # An integer beyond 64 bits is not a number to TFX.
    return None if largest is not None and largest >= 2**63 else doubles


def _text(cells: pa.Array) -> bytes:
    return bytes(cells.buffers()[2] or b"")


def _kind(cells: pa.Array) -> Kind:
    """The narrowest kind that holds every cell, in Python's judgement."""
    integers = pc.match_substring_regex(cells, _PLAIN_INT)
    rest = cells.filter(pc.invert(integers))
    floats = pc.match_substring_regex(rest, _PLAIN_FLOAT)
    odd = rest.filter(pc.invert(floats))
    kind = Kind.INT if len(odd) == len(rest) else Kind.FLOAT
    for cell in odd.unique():
        kind = max(kind, _kind_of_cell(cell.as_py().encode()))
        if kind == Kind.BYTES:
            break
    return kind


def _kind_of_cell(cell: bytes) -> Kind:
    try:
        return Kind.INT if int(cell) in _INT64 else Kind.HUGE
    except ValueError:
        pass
    try:
        float(cell)
    except ValueError:
        return Kind.BYTES
    return Kind.FLOAT


def _values(cells: pa.Array, kind: Kind) -> pa.Array:
    match kind:
        case Kind.BYTES | Kind.HUGE:
            return cells.cast(pa.large_binary())
        case Kind.INT:
            values = _integers(cells)
        case Kind.FLOAT:
            values = _doubles(cells)
        case Kind.EMPTY:
            values = pa.nulls(len(cells)) if cells.null_count == len(cells) else None
    if values is None:
        if _widen_kind(cells, kind) > kind:
            raise Surprise(f"a column of {kind.name} holds something else")
        number = int if kind == Kind.INT else float
        values = pa.array([cell and number(cell) for cell in cells.to_pylist()])
    # A number beyond the range of a float is infinite, as in TFX.
    return values.cast(pa.float32()) if kind == Kind.FLOAT else values
