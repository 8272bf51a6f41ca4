# SPDX-License-Identifier: Apache-2.0
"""The Arrow columns of a split: a cache of its TFRecords that is mapped into memory.

    <uri>/Split-train/NAME.gz               the truth
    <uri>/columns/Split-train/NAME.arrow    written together with the shard
    <cache_dir>/<digest>.arrow              decoded from a shard without columns, or with columns
                                            that are damaged or stale: a published folder stays as
                                            it is

Columns may be deleted; then reading is slower, and nothing else changes.
"""

import bisect
import functools
import glob
import hashlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa

from stoker.any_python.lines import say
from stoker.data.column_file import (
    BLOCK_ROWS,
    ColumnFile,
    ColumnWriter,
    DamagedColumns,
    TooLargeForColumns,
    columns_path,
    conform,
    union,
)
from stoker.data.decode import decode
from stoker.data.input_files import matching_files
from stoker.data.tfrecord import fit_batch_rows, read_records

_Read = TypeVar("_Read")
_BATCH_ROWS = 4096
_ROOM_TO_LEAVE = 1 << 30
"""Bytes that stay free on the disk of the cache."""


class Columns:
    """The columns of some shards, one after another, as blocks of at most BLOCK_ROWS rows.

    Every block has the columns of all shards. One that turns out to be damaged is decoded again.
    """

    def __init__(self, shards: Sequence[str], files: Sequence[ColumnFile], cache_dir: str | None):
        self.shards = tuple(shards)
        self.files = list(files)
        self.schema: pa.Schema = union([file.schema for file in files], shards[0])
        self.num_rows = sum(file.num_rows for file in files)
        self.num_bytes = sum(len(file.data) for file in files)
        num_blocks = [file.num_blocks for file in files]
        self._first_blocks: list[int] = list(itertools.accumulate(num_blocks, initial=0))
        self._cache_dir = cache_dir

    @property
    def num_blocks(self) -> int:
        """How many blocks all shards have."""
        return self._first_blocks[-1]

    @functools.cached_property
    def first_rows(self) -> np.ndarray:
        """The number of the first row of each block."""
        sizes = [
            min(BLOCK_ROWS, file.num_rows - index * BLOCK_ROWS)
            for file in self.files
            for index in range(file.num_blocks)
        ]
        return np.cumsum([0, *sizes], dtype=np.int64)[:-1]

    def block(self, index: int) -> pa.RecordBatch:
        """One block, not copied."""
        shard = bisect.bisect(self._first_blocks, index) - 1
        place = index - self._first_blocks[shard]
        return conform(self._read(shard, lambda file: file.block(place)), self.schema)

    def blocks(self) -> Iterator[pa.RecordBatch]:
        """All blocks, in the order of the shards and of their records."""
        return map(self.block, range(self.num_blocks))

    def shard_blocks(self, shard: int) -> list[pa.RecordBatch]:
        """All blocks of one shard, checked, and all of the same file."""
        return [conform(block, self.schema) for block in self._read(shard, ColumnFile.blocks)]

    def _read(self, shard: int, read: Callable[[ColumnFile], _Read]) -> _Read:
        try:
            return read(self.files[shard])
        except DamagedColumns as damage:
            self._rebuild(shard, damage)
            return read(self.files[shard])

    def _rebuild(self, shard: int, damage: DamagedColumns) -> None:
        say(f"{damage}. It is rebuilt from {self.shards[shard]}.", error=True)
        if self._cache_dir:
            self.files[shard] = _decode_shard(
                self.shards[shard], self._cache_dir, whatever_size=True
            )
            return
        with tempfile.TemporaryDirectory(
            prefix="stoker-columns-", ignore_cleanup_errors=True
        ) as folder:
            # A file that is mapped lives on when its name is gone; on FUSE, under a hidden one.
            self.files[shard] = _decode_shard(self.shards[shard], folder, whatever_size=True)


def read_columns(
    shards: Sequence[str], cache_dir: str | None = None, *, decode_missing: bool = True
) -> Columns | None:
    """The columns of some shards; None if they would have to be decoded and there is no place.

    What has no columns is decoded into `cache_dir`, unless `decode_missing` says otherwise.
    """
    files = []
    for shard in shards:
        file = _find_columns(shard, cache_dir)
        if file is None and decode_missing and cache_dir:
            try:
                file = _decode_shard(shard, cache_dir)
            except _NoRoom as error:
                say(error, error=True)
            except TooLargeForColumns:
                return None
        if file is None:
            return None
        files.append(file)
    return Columns(shards, files, cache_dir) if files else None


def find_shards(folder: str) -> list[str]:
    """The shards of a split; where its columns alone were staged, as these name them."""
    if os.path.isdir(folder):
        return matching_files(folder)
    uri, split = os.path.split(folder)
    columns = matching_files(os.path.join(uri, "columns", split))
    names = [os.path.splitext(os.path.basename(path))[0] for path in columns]
    return [os.path.join(folder, f"{name}.gz") for name in names]


def list_stale_columns(uri: str) -> list[str]:
    """The files of columns beside examples that are damaged, or of no shard that is there."""
    stale = []
    for path in sorted(glob.glob(os.path.join(glob.escape(uri), "columns", "Split-*", "*.arrow"))):
        split, name = path.split(os.sep)[-2:]
        shard = os.path.join(uri, split, name.removesuffix(".arrow"))
        try:
            found = next(filter(os.path.exists, (f"{shard}.gz", shard)))
            ColumnFile(path, found)
        except (StopIteration, DamagedColumns):
            stale.append(path)
    return stale


def read_batches(shards: Sequence[str], cache_dir: str | None = None) -> Iterator[pa.RecordBatch]:
    """The blocks of `read_columns`, or the same rows decoded if there is no place for columns.

    What is decoded on the way has in each batch the columns that are found there.
    """
    columns = read_columns(shards, cache_dir)
    if columns is not None:
        return columns.blocks()
    return itertools.chain.from_iterable(map(_decode_records, shards))


def num_examples(file_patterns: str | Sequence[str]) -> int:
    """How many records there are in all files that match; columns know it without reading them."""
    return sum(_num_records(shard) for shard in matching_files(file_patterns))


def find_num_rows(shards: Sequence[str]) -> int | None:
    """How many rows there are, if columns beside the shards say so."""
    try:
        return sum(ColumnFile(columns_path(shard), shard).num_rows for shard in shards)
    except (DamagedColumns, OSError):
        return None


class _NoRoom(Exception):
    """The cache cannot take columns: its disk is nearly full, or not writable."""


def _find_columns(shard: str, cache_dir: str | None) -> ColumnFile | None:
    paths = [columns_path(shard), *([_cached_path(shard, cache_dir)] if cache_dir else [])]
    for path in filter(os.path.exists, paths):
        try:
            return ColumnFile(path, shard)
        except DamagedColumns as damage:
            say(f"{damage}. It is not used.", error=True)
    return None


def _cached_path(shard: str, cache_dir: str) -> str:
    digest = hashlib.sha256(os.path.abspath(shard).encode()).hexdigest()
    return os.path.join(cache_dir, f"{digest[:32]}.arrow")


def _decode_shard(shard: str, cache_dir: str, *, whatever_size: bool = False) -> ColumnFile:
    path = _cached_path(shard, cache_dir)
    try:
        with ColumnWriter(shard, path, whatever_size=whatever_size) as writer:
            for batch in _decode_records(shard):
                writer.write(batch)
                if shutil.disk_usage(cache_dir).free < _ROOM_TO_LEAVE:
                    raise _NoRoom(f"{cache_dir} has no room for the columns of {shard}.")
    except OSError as error:
        raise _NoRoom(f"{cache_dir} cannot hold the columns of {shard}: {error}.") from error
    return ColumnFile(path, shard)


def _decode_records(shard: str) -> Iterator[pa.RecordBatch]:
    batch_rows = fit_batch_rows(shard, _BATCH_ROWS)
    return decode(read_records(shard), batch_rows=batch_rows, path=shard)


def _num_records(shard: str) -> int:
    file = _find_columns(shard, None)
    return file.num_rows if file else sum(1 for _ in read_records(shard))
