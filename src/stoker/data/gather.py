# SPDX-License-Identifier: Apache-2.0
"""Rows of mapped columns by their numbers, in any order: what a shuffle reads.

The memory of the process is seen as one long array, and tables say where in it each block keeps the
values of a column. So a few calls of numpy pick a column's values in thousands of rows, however
many files and blocks there are.
"""

import ctypes
import functools
import mmap
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from stoker.data.columns import Columns

__all__ = ["Cells", "RowReader", "spread"]

_OFFSET = np.dtype(np.int64)
_BYTES = np.dtype(object)
_DTYPES: dict[Any, np.dtype] = {
    pa.int64(): _OFFSET,
    pa.float32(): np.dtype(np.float32),
    pa.large_binary(): _BYTES,
}
_MAX_WORDS = 1 << 14
_LOWEST, _HIGHEST = 1 << 12, 1 << 47
"""Between these addresses lies all that a process has; the first page is never used."""


@dataclass(frozen=True, slots=True)
class Cells:
    """One column's values in some rows."""

    values: np.ndarray
    """One row after another: numbers, or bytes as objects."""
    lengths: np.ndarray | int
    """How many values each row has; one number if all have the same."""
    codes: np.ndarray | None = None
    """If given, `values` are a column's few distinct words, and these say which, value by value."""


class RowReader:
    """Reads rows of a split. All checksums are checked when the first row is read."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._tables: dict[str, _Table] = {}
        self._lock = threading.Lock()

    def read(self, rows: np.ndarray, names: Sequence[str]) -> dict[str, Cells]:
        """The cells of some columns in the given rows."""
        tables = [self._table(name) for name in names]
        blocks, within = self._places(rows)
        return {
            name: table.cells(blocks, within) for name, table in zip(names, tables, strict=True)
        }

    def missing(self, rows: np.ndarray, name: str) -> np.ndarray:
        """Whether the rows lack a feature altogether; an empty list is not missing."""
        return self._table(name).missing(*self._places(rows))

    @functools.cached_property
    def _blocks(self) -> list[tuple[pa.RecordBatch, mmap.mmap]]:
        """All blocks, checked, each with the file that it is in."""
        blocks = []
        for shard in range(len(self._columns.files)):
            own = self._columns.shard_blocks(shard)
            blocks += [(block, self._columns.files[shard].data) for block in own]
        return blocks

    def _table(self, name: str) -> "_Table":
        with self._lock:
            if name not in self._tables:
                arrays = [_column(block, name) for block, _ in self._blocks]
                self._tables[name] = _Table(arrays, [data for _, data in self._blocks])
            return self._tables[name]

    def _places(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows as numbers of blocks and places in those."""
        first_rows = self._columns.first_rows
        blocks = np.searchsorted(first_rows, rows, side="right") - 1
        return blocks, rows - first_rows.take(blocks)


def spread(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The numbers from starts[i] on, lengths[i] of them, for one i after another."""
    ends = _ends(lengths)
    return np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])


def _column(block: pa.RecordBatch, name: str) -> pa.Array:
    """A column of a block; without a type if it has none of this name."""
    place = block.schema.get_field_index(name)
    return pa.nulls(block.num_rows) if place < 0 else block.column(place)


class _Table:
    """Where one column is: for each block the index of its first offset and of its first value."""

    def __init__(self, arrays: Sequence[pa.Array], maps: Sequence[mmap.mmap]) -> None:
        self._arrays = arrays
        self._maps = maps
        self._dtype = _dtype(arrays[0].type)
        self._same_length = _same_length(arrays)
        # A list's buffers are: validity, offsets, and those of its values: validity, numbers; or,
        # for bytes: validity, offsets, bytes.
        self._list_starts = _starts(arrays, 1, _OFFSET.itemsize)
        self._words = _few_words(arrays) if self._dtype == _BYTES else None
        if self._words:
            self._value_starts = _ends([len(array.values) for array in arrays])[:-1]
        elif self._dtype == _BYTES:
            self._value_starts = _starts(arrays, 3, _OFFSET.itemsize)
            self._byte_starts = _starts(arrays, 4, 1) - [_address(data) for data in maps]
        else:
            self._value_starts = _starts(arrays, 3, self._dtype.itemsize)

    def cells(self, blocks: np.ndarray, within: np.ndarray) -> Cells:
        lengths, blocks, within = self._values_in(blocks, within)
        indices = self._value_starts.take(blocks) + within
        if self._words:
            words, codes = self._words
            return Cells(words, lengths, codes.take(indices))
        if self._dtype == _BYTES:
            return Cells(self._bytes(indices, blocks), lengths)
        return Cells(_memory(self._dtype).take(indices), lengths)

    def missing(self, blocks: np.ndarray, within: np.ndarray) -> np.ndarray:
        answer = np.empty(len(blocks), np.bool_)
        for block in np.unique(blocks).tolist():
            where = blocks == block
            nulls = self._arrays[block].is_null().cast(pa.uint8())
            answer[where] = np.frombuffer(nulls.buffers()[1], np.uint8)[within[where]]
        return answer

    def _values_in(
        self, blocks: np.ndarray, within: np.ndarray
    ) -> tuple[np.ndarray | int, np.ndarray, np.ndarray]:
        """How many values the rows have, and block and place of each value."""
        length = self._same_length
        if length == 1:
            return 1, blocks, within
        if length is not None:
            values = np.add.outer(within * length, np.arange(length)).ravel()
            return length, np.repeat(blocks, length), values
        indices = self._list_starts.take(blocks) + within
        starts = _memory(_OFFSET).take(indices)
        lengths = _memory(_OFFSET).take(indices + 1) - starts
        return lengths, np.repeat(blocks, lengths), spread(starts, lengths)

    def _bytes(self, indices: np.ndarray, blocks: np.ndarray) -> np.ndarray:
        """Slices of the mapped files: the fastest way to bytes, however long they are."""
        firsts = self._byte_starts.take(blocks)
        starts = (_memory(_OFFSET).take(indices) + firsts).tolist()
        ends = (_memory(_OFFSET).take(indices + 1) + firsts).tolist()
        maps = self._maps
        values = np.empty(len(starts), _BYTES)
        values[:] = [
            maps[block][start:end]
            for block, start, end in zip(blocks.tolist(), starts, ends, strict=True)
        ]
        return values


def _few_words(arrays: Sequence[pa.Array]) -> tuple[np.ndarray, np.ndarray] | None:
    """The distinct values of a column of bytes, and which one each value is; None if too many.

    TensorFlow makes a tensor of numbers, and picks words, much faster than it makes one of bytes.
    """
    numbers: dict[bytes, int] = {}
    codes = _scratch(sum(len(array.values) for array in arrays))
    done = 0
    for array in arrays:
        coded = array.values.dictionary_encode()
        found = [numbers.setdefault(word, len(numbers)) for word in coded.dictionary.to_pylist()]
        if len(numbers) > _MAX_WORDS:
            return None
        indices = np.frombuffer(coded.indices.buffers()[1] or b"", np.int32, len(coded))
        codes[done : done + len(coded)] = np.array(found, codes.dtype).take(indices)
        done += len(coded)
    words = np.empty(len(numbers), _BYTES)
    words[:] = list(numbers)
    return words, codes


def _scratch(num_codes: int) -> np.ndarray:
    """Numbers below _MAX_WORDS on the disk rather than in memory."""
    if not num_codes:
        return np.empty(0, np.uint16)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, np.uint16, "w+", shape=num_codes)


@functools.cache
def _memory(dtype: np.dtype) -> np.ndarray:
    """All addresses of the process as items of one type; only what is mapped may be read."""
    every: Any = (ctypes.c_char * (_HIGHEST - _LOWEST)).from_address(_LOWEST)
    return np.frombuffer(every, dtype)


def _address(data: Any) -> int:
    """The index of the first byte of a buffer in `_memory`."""
    return np.frombuffer(data, np.uint8).ctypes.data - _LOWEST


def _starts(arrays: Sequence[pa.Array], number: int, size: int) -> np.ndarray:
    """For each array where in `_memory` a buffer begins, in items of `size` bytes; 0 if empty."""
    buffers = [array.buffers() for array in arrays]
    return np.array([_address(one[number]) // size if _has(one, number) else 0 for one in buffers])


def _has(buffers: Sequence[pa.Buffer | None], number: int) -> bool:
    return len(buffers) > number and bool(buffers[number])


def _same_length(arrays: Sequence[pa.Array]) -> int | None:
    """How many values every row has, if that is the same number."""
    if pa.types.is_null(arrays[0].type):
        return 0
    found: set[int] = set()
    for array in arrays:
        if len(array):
            lengths = np.diff(np.frombuffer(array.buffers()[1], _OFFSET)[: len(array) + 1])
            found |= {int(lengths.min()), int(lengths.max())}
        if len(found) > 1:
            return None
    return next(iter(found), 0)


def _dtype(column: pa.DataType) -> np.dtype:
    return _OFFSET if pa.types.is_null(column) else _DTYPES[column.value_type]


def _ends(lengths: np.ndarray | Sequence[int]) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
