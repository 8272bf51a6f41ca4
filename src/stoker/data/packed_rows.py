# SPDX-License-Identifier: Apache-2.0
"""The narrow columns of a split, packed row by row in a scratch file: what a shuffle reads fast.

In columns, every value of a row lies somewhere else, behind an offset. Packed, a row is one short
piece of memory: rows from anywhere are one call of numpy for all columns. Words become numbers: of
a column's distinct words or, where these are many, of all its values in another scratch file. Such
files have no name, so that nobody can change them: offsets are checked once, when rows are packed.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from stoker.data.encode import as_array
from stoker.errors import BadData

_MAX_WORDS = 1 << 16
_MOST_BYTES_OF_COLUMN = 64
"""What a column's values take in a row at most, else they stay where they are."""
_LONG_WORD = 64
"""How many bytes the words of a column may have on average to be copied."""
_MOST_BYTES = 1 << 32
_ROOM_TO_LEAVE = 1 << 30
"""Bytes that stay free on the disk of the scratch files."""
_OFFSET = np.dtype(np.int64)
_CODE = np.dtype(np.uint32)
_DTYPES: dict[Any, np.dtype] = {
    pa.int64(): _OFFSET,
    pa.float32(): np.dtype(np.float32),
    pa.large_binary(): _CODE,
}


@dataclass(frozen=True, slots=True)
class Cells:
    """One column's values in some rows."""

    values: np.ndarray
    """One row after another: numbers, or bytes as objects."""
    lengths: np.ndarray | int
    """How many values each row has; one number if all have the same."""
    words: pa.LargeBinaryArray | None = None
    """If given, `values` are numbers of these words."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a column before rows are read."""

    least: int
    """How many values a row has at least."""
    most: int
    words: "Words | None" = None


class PackedRows:
    """The narrow ones among some columns, each of which is given as its arrays in all blocks."""

    def __init__(self, columns: Mapping[str, Sequence[pa.Array]]) -> None:
        found = [_find_field(name, arrays) for name, arrays in columns.items()]
        fields = {field.name: field for field in found if field}
        parts = [part for field in fields.values() for part in field.parts]
        parts.sort(key=lambda part: -np.dtype(part[1]).itemsize)
        num_rows = sum(map(len, next(iter(columns.values()))))
        rows = scratch(num_rows, np.dtype(parts, align=True)) if parts else np.empty(num_rows)
        self._fields = {} if rows is None else fields
        self._rows = np.empty(0) if rows is None else rows
        for field in self._fields.values():
            _pack(field, columns[field.name], self._rows)

    @property
    def facts(self) -> dict[str, Facts]:
        """What is known of those columns that are packed."""
        return {name: field.facts for name, field in self._fields.items()}

    def read(self, rows: np.ndarray, names: Sequence[str]) -> dict[str, Cells]:
        """The cells in the given rows of those columns that are packed."""
        if not self._fields:
            return {}
        taken = self._rows.take(rows)
        return {name: self._fields[name].cells(taken) for name in names if name in self._fields}


@dataclass(frozen=True, slots=True)
class _Field:
    """Where a packed row has a column: its values, and how many unless all rows agree."""

    name: str
    dtype: np.dtype
    facts: Facts

    @property
    def most(self) -> int:
        """How many values have room."""
        return self.facts.most

    @property
    def words(self) -> "Words | None":
        """What values that are numbers stand for."""
        return self.facts.words

    @property
    def _varies(self) -> bool:
        return self.facts.least != self.most

    @property
    def parts(self) -> list[tuple[Any, ...]]:
        """Name, type and shape, as numpy wants them; names are not empty, as a feature's may be."""
        parts: list[tuple[Any, ...]] = []
        if self.most:
            parts.append((f"values of {self.name}", self.dtype, (self.most,)))
        if self._varies:
            parts.append((f"length of {self.name}", np.dtype(np.uint8)))
        return parts

    def cells(self, rows: np.ndarray) -> Cells:
        """The column in some packed rows."""
        words = self.words and self.words.words
        if not self.most:
            return Cells(np.empty(0, self.dtype), 0, words)
        values = np.ascontiguousarray(rows[f"values of {self.name}"]).ravel()
        if not self._varies:
            return Cells(values, self.most, words)
        lengths = np.ascontiguousarray(rows[f"length of {self.name}"])
        return Cells(values.compress(self._have_values(lengths)), lengths, words)

    def put(self, rows: np.ndarray, lengths: np.ndarray, values: np.ndarray) -> None:
        """Pack the values of some rows."""
        places = rows[f"values of {self.name}"]
        if self._varies:
            rows[f"length of {self.name}"] = lengths
            places[self._have_values(lengths).reshape(places.shape)] = values
        else:
            places[:] = values.reshape(places.shape)

    def _have_values(self, lengths: np.ndarray) -> np.ndarray:
        """Whether there is a value, for each place of each row."""
        if self.most == 1:
            return np.asarray(lengths != 0)
        every = np.tri(self.most + 1, self.most, -1, bool)
        return every.take(lengths, axis=0, mode="clip").ravel()


def _find_field(name: str, arrays: Sequence[pa.Array]) -> _Field | None:
    """How a column is packed; None if it is not."""
    if pa.types.is_null(arrays[0].type):
        return _Field(name, _OFFSET, Facts(0, 0))
    kind = arrays[0].type.value_type
    least, most = find_lengths(arrays)
    if most * _DTYPES[kind].itemsize > _MOST_BYTES_OF_COLUMN:
        return None
    if kind != pa.large_binary():
        return _Field(name, _DTYPES[kind], Facts(least, most))
    words = find_words(name, arrays)
    return _Field(name, _CODE, Facts(least, most, words)) if words else None


def _pack(field: _Field, arrays: Sequence[pa.Array], rows: np.ndarray) -> None:
    first_row = first_value = 0
    for array in arrays if field.most else ():
        num_values = len(array.values)
        ends = _offsets(array)
        lengths = np.diff(ends)
        if len(array):
            _check(field.name, ends, num_values)
            if lengths.min() < field.facts.least or lengths.max() > field.most:
                raise refuse_changed(field.name)
            start, end = int(ends[0]), int(ends[-1])
            if not field.words:
                numbers = np.frombuffer(array.values.buffers()[1] or b"", field.dtype)
                values = numbers[start:end]
            elif field.words.codes is None:
                values = np.arange(first_value + start, first_value + end)
            else:
                values = field.words.codes[first_value + start : first_value + end]
            field.put(rows[first_row : first_row + len(array)], lengths, values)
        first_row += len(array)
        first_value += num_values


@dataclass(frozen=True, slots=True)
class Words:
    """The values of a column of bytes: its distinct ones, or all of them one after another."""

    words: pa.LargeBinaryArray
    codes: np.ndarray | None
    """Which one each value is; None if every value is a word of its own."""


def find_words(name: str, arrays: Sequence[pa.Array]) -> Words | None:
    """The values of a column of bytes; None if they are too large for a copy."""
    return _find_few_words(name, arrays) or _copy_words(name, arrays)


def _find_few_words(name: str, arrays: Sequence[pa.Array]) -> Words | None:
    numbers: dict[bytes, int] = {}
    codes = scratch(sum(len(array.values) for array in arrays), np.dtype(np.uint16))
    if codes is None:
        return None
    done = 0
    for array in arrays:
        coded = _check_words(name, array.values).dictionary_encode()
        found = [numbers.setdefault(word, len(numbers)) for word in coded.dictionary.to_pylist()]
        if len(numbers) > _MAX_WORDS:
            return None
        indices = np.frombuffer(coded.indices.buffers()[1] or b"", np.int32, len(coded))
        codes[done : done + len(coded)] = np.array(found, codes.dtype).take(indices)
        done += len(coded)
    return Words(as_array(list(numbers)), codes)


def _copy_words(name: str, arrays: Sequence[pa.Array]) -> Words | None:
    pieces = [array.values for array in arrays if len(array.values)]
    num_values, num_bytes = sum(map(len, pieces)), sum(map(_num_bytes, pieces))
    if num_bytes > num_values * _LONG_WORD or num_values > np.iinfo(_CODE).max:
        return None
    data, offsets = scratch(num_bytes, np.dtype(np.uint8)), scratch(num_values + 1, _OFFSET)
    if data is None or offsets is None:
        return None
    done = used = 0
    for piece in pieces:
        values = _check_words(name, piece)
        ends, buffer = _offsets(values), values.buffers()[2]
        ends -= (start := int(ends[0]))
        if used + ends[-1] > num_bytes:
            raise refuse_changed(name)
        if buffer:
            found = np.frombuffer(buffer, np.uint8)[start : start + ends[-1]]
            data[used : used + ends[-1]] = found
        offsets[done : done + len(ends)] = ends + used
        done, used = done + len(values), used + int(ends[-1])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return Words(pa.Array.from_buffers(pa.large_binary(), num_values, buffers), None)


def _num_bytes(values: pa.LargeBinaryArray) -> int:
    ends = _offsets(values)
    return int(ends[-1] - ends[0])


def scratch(size: int, dtype: np.dtype) -> np.ndarray | None:
    """An array on the disk rather than in memory; None if there is no room for it."""
    if not size:
        return np.empty(0, dtype)
    num_bytes = size * dtype.itemsize
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if num_bytes > min(_MOST_BYTES, free - _ROOM_TO_LEAVE):
        return None
    with tempfile.TemporaryFile() as file:
        return np.asarray(np.memmap(file, dtype, "w+", shape=size))


def find_lengths(arrays: Sequence[pa.Array]) -> tuple[int, int]:
    """How many values a row of a column of lists has at least, and at most."""
    lengths = [np.diff(_offsets(array)) for array in arrays if len(array)]
    if not lengths:
        return 0, 0
    return min(int(one.min()) for one in lengths), max(int(one.max()) for one in lengths)


def _offsets(array: pa.Array) -> np.ndarray:
    """Where lists or words begin, and where the last one ends: a copy, which does not change."""
    count = len(array) + 1 if len(array) else 0
    return np.frombuffer(array.buffers()[1] or b"", _OFFSET, count).copy()


def _check_words(name: str, words: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """The same words; where they begin and end was copied and is within their buffer."""
    if not len(words):
        return words
    data = words.buffers()[2] or pa.py_buffer(b"")
    ends = _offsets(words)
    _check(name, ends, data.size)
    return pa.Array.from_buffers(words.type, len(words), [None, pa.py_buffer(ends), data])


def _check(name: str, ends: np.ndarray, size: int) -> None:
    if ends[0] < 0 or ends[-1] > size or (np.diff(ends) < 0).any():
        raise refuse_changed(name)


def refuse_changed(name: str) -> BadData:
    """What to say of a mapped file that is not what it was when it was checked."""
    return BadData(
        f"The columns of the feature {name!r} have changed while they were read. "
        "Delete the folder `columns` beside the splits, and run again; do not write to "
        "files that are being read."
    )
