# SPDX-License-Identifier: Apache-2.0
"""The first lines of a CSV file: the names of its columns, and which of them hold text."""

import collections
import csv
import io
import itertools
from collections.abc import Sequence
from typing import IO

from stoker.data.input_files import UNREADABLE, open_any
from stoker.errors import BadData

NOT_UTF8 = "the text is not UTF-8. Save the file as UTF-8."
_ROWS_TO_LOOK_AT = 20
_FILES_TO_LOOK_AT = 100
_ROWS_TO_COUNT = 1000
_MOST = 0.9
_OTHER_DELIMITERS = ";\t|"


def read_header(path: str, delimiter: str = ",") -> list[str]:
    """The names of the columns; BadData if they are none, or the same one twice."""
    names, *_ = _read_rows(path, delimiter, 1) or [[]]
    if not names:
        raise BadData(f"{path} is empty: it needs a first line with the names of the columns.")
    if not is_utf8(names):
        raise BadData(f"{path}, line 1: {NOT_UTF8}")
    (name, times), *_ = collections.Counter(names).most_common(1)
    if times > 1:
        hint = "Is the header missing?" if _is_number(name) else "Rename one."
        raise BadData(f"{path}, line 1: the column {name!r} is there more than once. {hint}")
    return names


def find_other_header(files: Sequence[str]) -> str:
    """What is wrong with the headers of one split's files; empty if they are the same.

    Of very many files, the step itself looks at the rest.
    """
    names = read_header(files[0]) if files else []
    others = ((path, read_header(path)) for path in files[1:_FILES_TO_LOOK_AT])
    found = (describe_other_header(path, header, files[0], names) for path, header in others)
    return next(filter(None, found), "")


def describe_other_header(path: str, header: list[str], first: str, names: list[str]) -> str:
    """Why a file cannot be read with the first one; empty if it can."""
    if header == names:
        return ""
    return (
        f"{path} has the columns {header}, but {first} has {names}. "
        "Files of one split need the same header."
    )


def find_other_delimiter(path: str) -> str | None:
    """What seems to stand between the cells of a file in which no comma does."""
    names = read_header(path)
    if len(names) > 1:
        return None
    return next((mark for mark in _OTHER_DELIMITERS if mark in names[0]), None)


def list_columns_of_most_numbers(path: str, names: list[str], delimiter: str) -> list[str]:
    """The columns whose first cells are numbers, but for a few or none; empty cells are neither."""
    numbers: collections.Counter[str] = collections.Counter()
    words: collections.Counter[str] = collections.Counter()
    for row in _read_rows(path, delimiter, _ROWS_TO_COUNT)[1:]:
        for name, cell in zip(names, row, strict=False):
            if cell.strip():
                (numbers if _is_number(cell) else words)[name] += 1
    return [name for name in names if numbers[name] > _MOST * (numbers[name] + words[name])]


def find_words(path: str) -> dict[str, str]:
    """The names of the columns, each with the first cell that is no number; "" if none is seen."""
    names = read_header(path)
    words = dict.fromkeys(names, "")
    for row in _read_rows(path, ",", _ROWS_TO_LOOK_AT)[1:]:
        for name, cell in zip(names, row, strict=False):
            words[name] = words[name] or ("" if _is_number(cell) else cell)
    return words


def _read_rows(path: str, delimiter: str, num_rows: int) -> list[list[str]]:
    try:
        with open_text(path) as lines:
            return list(itertools.islice(csv.reader(lines, delimiter=delimiter), num_rows))
    except (csv.Error, *UNREADABLE) as error:
        raise BadData(
            f"{path} cannot be read as CSV: {error}. Write it again, or give another pattern."
        ) from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return not cell.strip()
    return True


def open_text(path: str) -> IO[str]:
    """A file as text; bytes that are no UTF-8 are kept, for `is_utf8` to find."""
    return io.TextIOWrapper(
        open_any(path), encoding="utf-8-sig", errors="surrogateescape", newline=""
    )


def is_utf8(row: list[str]) -> bool:
    """Whether every letter of a row was UTF-8 in the file."""
    return not any("\udc80" <= letter <= "\udcff" for cell in row for letter in cell)
