# SPDX-License-Identifier: Apache-2.0
"""Rows of mapped columns by their numbers, in any order: what a shuffle reads.

Narrow columns are packed into rows when the first is read, see `packed_rows`. Of the others, each
file is seen as one array per type of value, and tables say where in it each block keeps the values
of a column. Rows are sorted by block first, so that one call of numpy picks a column's values out
of one file, however many blocks there are, and finds them near each other.
"""

import functools
import itertools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from stoker.data.column_file import BLOCK_ROWS, ColumnFile, type_of
from stoker.data.columns import Columns
from stoker.data.encode import ends_of
from stoker.data.packed_rows import (
    Cells,
    Facts,
    PackedRows,
    find_lengths,
    find_words,
    refuse_changed,
)

_OFFSET = np.dtype(np.int64)
_BYTES = np.dtype(object)
_DTYPES: dict[Any, np.dtype] = {
    pa.int64(): _OFFSET,
    pa.float32(): np.dtype(np.float32),
    pa.large_binary(): _BYTES,
}


class RowReader:
    """Reads rows of a split. All checksums are checked before the first row is read."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._tables: dict[str, _ColumnTable] = {}
        self._packed: dict[tuple[str, ...], PackedRows] = {}
        self._lock = threading.Lock()

    def facts(self, names: Sequence[str]) -> dict[str, Facts]:
        """What is known of some columns before rows are read."""
        if not self._blocks:
            return dict.fromkeys(names, Facts(0, 0))
        packed = self._pack(tuple(names)).facts
        return {name: packed.get(name) or self._table(name).facts for name in names}

    def read(self, rows: np.ndarray, names: Sequence[str]) -> dict[str, Cells]:
        """The cells of some columns in the given rows."""
        packed = self._pack(tuple(names)).read(rows, names)
        rest = [name for name in names if name not in packed]
        return {**packed, **self._gather(rows, rest)} if rest else packed

    def missing(self, rows: np.ndarray, name: str) -> np.ndarray:
        """Whether the rows lack a feature altogether; an empty list is not missing."""
        blocks, within = self._places(rows)
        answer = np.empty(len(rows), np.bool_)
        for block in np.unique(blocks).tolist():
            where = blocks == block
            nulls = _column(self._blocks[block], name).is_null().cast(pa.uint8())
            answer[where] = np.frombuffer(nulls.buffers()[1], np.uint8)[within[where]]
        return answer

    def _gather(self, rows: np.ndarray, names: Sequence[str]) -> dict[str, Cells]:
        tables = [self._table(name) for name in names]
        blocks, within = self._places(rows)
        # numpy sorts numbers of 16 bits several times faster than longer ones.
        short = self._columns.num_blocks <= np.iinfo(np.uint16).max
        order = np.argsort(blocks.astype(np.uint16) if short else blocks, kind="stable")
        blocks, within = blocks.take(order), within.take(order)
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        return {
            name: _reorder(table.cells(blocks, within), ranks)
            for name, table in zip(names, tables, strict=True)
        }

    @functools.cached_property
    def _files(self) -> list[tuple[ColumnFile, list[pa.RecordBatch]]]:
        """All files with their blocks, checked."""
        # A file that turns out to be damaged is replaced when its blocks are asked for.
        blocks = [self._columns.shard_blocks(shard) for shard in range(len(self._columns.files))]
        return list(zip(self._columns.files, blocks, strict=True))

    @functools.cached_property
    def _blocks(self) -> list[pa.RecordBatch]:
        return [block for _, blocks in self._files for block in blocks]

    def _pack(self, names: tuple[str, ...]) -> PackedRows:
        with self._lock:
            if names not in self._packed:
                columns = {name: [_column(block, name) for block in self._blocks] for name in names}
                self._packed[names] = PackedRows(columns)
            return self._packed[names]

    def _table(self, name: str) -> "_ColumnTable":
        with self._lock:
            if name not in self._tables:
                self._tables[name] = _ColumnTable(name, self._files)
            return self._tables[name]

    def _places(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows as numbers of blocks and places in those."""
        first_rows = self._columns.first_rows
        blocks = np.searchsorted(first_rows, rows, side="right") - 1
        return blocks, rows - first_rows.take(blocks)


def spread(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The numbers from starts[i] on, lengths[i] of them, for one i after another."""
    ends = ends_of(lengths)
    return np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])


def _reorder(cells: Cells, ranks: np.ndarray) -> Cells:
    """The cells of the rows in another order: next comes the row of each rank."""
    lengths, places = cells.lengths, ranks
    if not isinstance(lengths, int):
        starts = ends_of(lengths)[:-1]
        lengths = lengths.take(ranks)
        places = spread(starts.take(ranks), lengths)
    elif lengths != 1:
        places = np.add.outer(ranks * lengths, np.arange(lengths)).ravel()
    return Cells(cells.values.take(places), lengths, cells.words)


class _ColumnTable:
    """Where one column is; all blocks that are asked for are sorted."""

    def __init__(
        self, name: str, files: Sequence[tuple[ColumnFile, Sequence[pa.RecordBatch]]]
    ) -> None:
        self._name = name
        self._maps = [file.data for file, blocks in files for _ in blocks]
        self._arrays = [_column(block, name) for _, blocks in files for block in blocks]
        self._dtype = _dtype(self._arrays[0].type)
        has_type = not pa.types.is_null(self._arrays[0].type)
        least, most = find_lengths(self._arrays) if has_type else (0, 0)
        self._num_values = np.array([len(one.values) if has_type else 0 for one in self._arrays])
        # A list's buffers are: validity, offsets, and those of its values: validity, numbers; or,
        # for bytes: validity, offsets, bytes.
        items = functools.partial(_Items, name, files)
        self._list_offsets = items(1, _OFFSET)
        words = find_words(name, self._arrays) if self._dtype == _BYTES else None
        self.facts = Facts(least, most, words)
        self._first_values = ends_of(self._num_values)[:-1]
        self._values = items(3, _OFFSET if self._dtype == _BYTES else self._dtype)
        self._bytes = items(4, np.dtype(np.uint8))

    def cells(self, blocks: np.ndarray, within: np.ndarray) -> Cells:
        lengths, blocks, within = self._values_in(blocks, within)
        if words := self.facts.words:
            codes = self._first_values.take(blocks) + within
            if words.codes is not None:
                codes = words.codes.take(codes)
            return Cells(codes, lengths, words.words)
        if self._dtype == _BYTES:
            return Cells(self._slices(blocks, within), lengths)
        return Cells(self._values.take(blocks, within), lengths)

    def _values_in(
        self, blocks: np.ndarray, within: np.ndarray
    ) -> tuple[np.ndarray | int, np.ndarray, np.ndarray]:
        """How many values the rows have, and block and place of each value."""
        length = self.facts.most
        if length == self.facts.least == 1:
            return 1, blocks, within
        if length == self.facts.least:
            values = np.add.outer(within * length, np.arange(length)).ravel()
            return length, np.repeat(blocks, length), values
        starts, ends = self._limits(self._list_offsets, blocks, within, self._num_values)
        lengths = ends - starts
        return lengths, np.repeat(blocks, lengths), spread(starts, lengths)

    def _slices(self, blocks: np.ndarray, within: np.ndarray) -> np.ndarray:
        """Slices of the mapped files: the fastest way to bytes, however long they are."""
        starts, ends = self._limits(self._values, blocks, within, self._bytes.sizes)
        firsts = self._bytes.starts.take(blocks)
        maps = self._maps
        values = np.empty(len(starts), _BYTES)
        values[:] = [
            maps[block][start:end]
            for block, start, end in zip(
                blocks.tolist(), (starts + firsts).tolist(), (ends + firsts).tolist(), strict=True
            )
        ]
        return values

    def _limits(
        self, offsets: "_Items", blocks: np.ndarray, within: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where some lists or words begin and end, which is within the `sizes` of their blocks."""
        starts, ends = offsets.take(blocks, within), offsets.take(blocks, within + 1)
        if np.any((starts < 0) | (starts > ends) | (ends > sizes.take(blocks))):
            raise refuse_changed(self._name)
        return starts, ends


class _Items:
    """The numbers in one buffer of a column's arrays, in all blocks of all files."""

    def __init__(
        self,
        name: str,
        files: Sequence[tuple[ColumnFile, Sequence[pa.RecordBatch]]],
        number: int,
        dtype: np.dtype,
    ) -> None:
        views, starts, sizes = [], [], []
        for file, blocks in files:
            has_column = type_of(file.schema, name) != pa.null()
            # Where the file has no such column, all lists are empty: their offsets are 0.
            nothing = np.zeros(BLOCK_ROWS + 1, dtype)
            num_items = file.buffer.size // dtype.itemsize
            numbers = np.frombuffer(file.buffer, dtype, num_items)
            views.append(numbers if has_column else nothing)
            for block in blocks:
                buffers = _column(block, name).buffers() if has_column else []
                buffer = buffers[number] if number < len(buffers) else None
                starts.append(_start(buffer, file.buffer) // dtype.itemsize)
                sizes.append(buffer.size // dtype.itemsize if buffer else 0)
        self._views = views
        self._first_blocks = ends_of([len(blocks) for _, blocks in files])
        self.starts = np.array(starts)
        """Where the buffer of each block begins in its file."""
        self.sizes = np.array(sizes)

    def take(self, blocks: np.ndarray, within: np.ndarray) -> np.ndarray:
        """The number at each place, which is within its file whatever the places say."""
        indices = self.starts.take(blocks)
        indices += within
        numbers = np.empty(len(indices), self._views[0].dtype)
        limits = itertools.pairwise(blocks.searchsorted(self._first_blocks).tolist())
        for view, (start, end) in zip(self._views, limits, strict=True):
            # To raise an IndexError instead, numpy would make a copy.
            view.take(indices[start:end], out=numbers[start:end], mode="clip")
        return numbers


def _start(buffer: pa.Buffer | None, file: pa.Buffer) -> int:
    """How far from the beginning of a file a buffer begins, which Arrow has found in it."""
    if not buffer:
        return 0
    start: int = buffer.address - file.address
    assert 0 <= start <= file.size - buffer.size, "Arrow has copied a buffer of a mapped file"
    return start


def _column(block: pa.RecordBatch, name: str) -> pa.Array:
    """A column of a block; without a type if it has none of this name."""
    place = block.schema.get_field_index(name)
    return pa.nulls(block.num_rows) if place < 0 else block.column(place)


def _dtype(column: pa.DataType) -> np.dtype:
    return _OFFSET if pa.types.is_null(column) else _DTYPES[column.value_type]
