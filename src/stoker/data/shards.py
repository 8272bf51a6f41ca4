# SPDX-License-Identifier: Apache-2.0
"""Blocks of examples to the shards of their splits, on all cores, with their columns beside them.

Blocks are encoded, hashed, framed and compressed in threads, each by itself; what comes of them is
put together in the order of the input, so that the same input always makes the same files.
"""

import contextlib
import hashlib
import itertools
import os
import shutil
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
from isal import isal_zlib

from stoker.any_python.forking import num_cpus
from stoker.any_python.in_order import call_in_order
from stoker.data.column_file import ColumnWriter, TooLargeForColumns, columns_path
from stoker.data.encode import as_four_bytes, contents, headers_of, join, sizes_of, views
from stoker.data.tfrecord import checksums, header_of
from stoker.errors import BadData
from stoker.storage.files import begin_draft, remove_drafts

_SHARD_BYTES = 128 << 20
"""When a shard has grown to this, before compression, the next one begins."""

_GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # neither a name nor a time
_GZIP_LAST_BLOCK = b"\x03\0"
_GZIP_END = struct.Struct("<II")
_RAW = -15  # deflate without a header
_WORDS = 4  # of 64 bits in a SHA-256


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some examples, and the same as columns."""

    records: pa.LargeBinaryArray
    columns: pa.RecordBatch | None
    """None if they have none: they are of another message, or change the type of a feature."""
    keys: Callable[[], Sequence[bytes]] | None = None
    """What decides the split of each; the records themselves unless something else does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """What one block adds to one split."""

    deflated: bytes
    size: int
    crc: int
    columns: pa.RecordBatch | None


Parts = list[list[str]]
"""For each split, the files of a part of it, in order."""


def write_splits(
    blocks: Iterable[Callable[[], Block]], split_dirs: Sequence[str], hash_buckets: Sequence[int]
) -> None:
    """Send every example to the split that its key falls into, or to the only one."""
    join_parts(iter([write_parts(blocks, split_dirs, hash_buckets)]), split_dirs)


def write_parts(
    blocks: Iterable[Callable[[], Block]], split_dirs: Sequence[str], hash_buckets: Sequence[int]
) -> Parts:
    """The same for a part of the examples; the files get their names when all parts are there.

    Each call makes a block, in a thread; only a few are in memory at a time.
    """

    def make_and_pack(make: Callable[[], Block]) -> list[Packed]:
        return _pack_by_split(make(), hash_buckets)

    draft = begin_draft(os.path.dirname(os.path.abspath(split_dirs[0])))
    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(_SplitWriter(os.path.join(draft, os.path.basename(folder))))
            for folder in split_dirs
        ]
        for parts in call_in_order(make_and_pack, blocks, num_cpus()):
            for writer, part in zip(writers, parts, strict=True):
                writer.write(part)
    return [writer.files for writer in writers]


def join_parts(parts: Iterator[Parts], split_dirs: Sequence[str]) -> None:
    """Give the files of all parts their names, `data_tfrecord-00000-of-0000N.gz`, in order.

    A split that nothing fell into has one file, without examples. What is not finished, of this
    process or of others that were lost, is taken away.
    """
    uri = os.path.dirname(os.path.abspath(split_dirs[0]))
    found: list[list[str]] = [[] for _ in split_dirs]
    try:
        for part in parts:
            for files, more in zip(found, part, strict=True):
                files += more
        for folder, files in zip(split_dirs, found, strict=True):
            os.makedirs(folder, exist_ok=True)
            for index, path in enumerate(files or [_write_empty(uri)]):
                name = f"data_tfrecord-{index:05}-of-{len(files) or 1:05}.gz"
                move_shard(path, os.path.join(folder, name))
    finally:
        if os.path.isdir(uri):
            remove_drafts(uri)


def _write_empty(uri: str) -> str:
    path = os.path.join(begin_draft(uri), "empty.gz")
    with ShardWriter(path):
        return path


@contextlib.contextmanager
def draft_beside(folder: str) -> Iterator[str]:
    """A folder of the same name, for files that get their names in `folder` when they are whole.

    So two processes may write the same, as where one of them was only thought to be lost.
    """
    os.makedirs(folder, exist_ok=True)
    where, name = os.path.split(os.path.abspath(folder))
    draft = begin_draft(where)
    try:
        yield os.path.join(draft, name)
    finally:
        shutil.rmtree(draft)


def move_shard(path: str, target: str) -> None:
    """Give a file of records another name on the same disk, and its columns with it."""
    columns = columns_path(path)
    if os.path.exists(columns):
        os.makedirs(os.path.dirname(columns_path(target)), exist_ok=True)
        os.replace(columns, columns_path(target))
    os.replace(path, target)


def _pack_by_split(block: Block, hash_buckets: Sequence[int]) -> list[Packed]:
    if len(hash_buckets) == 1:
        return [pack(block)]
    rows = views(block.records)
    frames = _frame(block.records, rows)
    indices = split_indices(block.keys() if block.keys else rows, hash_buckets)
    masks = [_mask(indices == index) for index in range(len(hash_buckets))]
    return [
        _pack_frames(frames.filter(mask), block.columns and block.columns.filter(mask))
        for mask in masks
    ]


def split_indices(keys: Iterable[bytes | memoryview], hash_buckets: Sequence[int]) -> np.ndarray:
    """For each key the index of its split, by TFX's rule; its share is its number of buckets.

    The key is the serialized example, or the serialized feature that examples are partitioned by.
    """
    ends = list(itertools.accumulate(hash_buckets))
    digests = b"".join([hashlib.sha256(key).digest() for key in keys])
    words = np.frombuffer(digests, ">u8").astype(np.uint64).reshape(-1, _WORDS)
    return np.searchsorted(ends, _remainders(words, ends[-1]), side="right")


def _remainders(words: np.ndarray, total: int) -> np.ndarray:
    """Each row of words, read as one number, modulo `total`: by long division."""
    if total >= 2**32:
        raise ValueError(f"hash_buckets add up to {total}; they may be at most {2**32 - 1}.")
    divisor, shift = np.uint64(total), np.uint64(2**64 % total)
    remainder = np.zeros(len(words), np.uint64)
    for word in words.T:
        remainder = (remainder * shift + word % divisor) % divisor
    return remainder


def pack(block: Block) -> Packed:
    """A block that goes to one split as it is."""
    return _pack_frames(_frame(block.records, views(block.records)), block.columns)


def _pack_frames(frames: pa.LargeBinaryArray, columns: pa.RecordBatch | None) -> Packed:
    data = contents(frames)
    deflate = isal_zlib.compressobj(1, isal_zlib.DEFLATED, _RAW)
    # After a flush whatever another compressor makes can follow.
    deflated = deflate.compress(data) + deflate.flush(isal_zlib.Z_SYNC_FLUSH) if data else b""
    return Packed(deflated=deflated, size=len(data), crc=isal_zlib.crc32(data), columns=columns)


def _frame(records: pa.LargeBinaryArray, rows: Sequence[memoryview]) -> pa.LargeBinaryArray:
    """Each record as it is in a file; `rows` are the same records as Python has them."""
    footers = as_four_bytes(checksums(rows).astype("<u4"))
    return join(headers_of(sizes_of(records), header_of), records, footers)


def _mask(chosen: np.ndarray) -> pa.BooleanArray:
    bits = np.packbits(chosen, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(chosen), [None, pa.py_buffer(bits)])


class _SplitWriter:
    """The shards of one split that are being written, each with its columns."""

    def __init__(self, folder: str) -> None:
        self.files: list[str] = []
        self._folder = folder
        self._shard: ShardWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if self._shard:
            self._shard.__exit__(failure)

    def write(self, packed: Packed) -> None:
        """Append what a block has for this split."""
        if self._shard and self._shard.size >= _SHARD_BYTES:
            self._shard.__exit__(None)
            self._shard = None
        if self._shard is None and packed.size:
            self.files.append(os.path.join(self._folder, f"{len(self.files):05}.gz"))
            self._shard = ShardWriter(self.files[-1]).__enter__()
        if self._shard:
            self._shard.write(packed)


class ShardWriter:
    """A gzip file of records that is being written, and its columns beside it."""

    def __init__(self, path: str) -> None:
        self.size = 0
        """In bytes, before compression."""
        self._crc = 0
        self._path = path
        self._columns: ColumnWriter | None = None
        self._has_columns = True

    def __enter__(self) -> Self:
        Path(self._path).parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self._path, "wb")
        self._file.write(_GZIP_HEADER)
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        self._file.write(_GZIP_LAST_BLOCK + _GZIP_END.pack(self._crc, self.size & 0xFFFFFFFF))
        self._file.close()
        if failure is not None:
            self._give_up_columns()
        elif self._columns is not None:
            try:
                self._columns.__exit__(None)
            except BadData:
                self._columns = None

    def write(self, packed: Packed) -> None:
        """Append a block."""
        self._file.write(packed.deflated)
        self._crc = isal_zlib.crc32_combine(self._crc, packed.crc, packed.size)
        self.size += packed.size
        if self._has_columns:
            self._write_columns(packed.columns)

    def _write_columns(self, columns: pa.RecordBatch | None) -> None:
        if columns is None:
            self._give_up_columns()
            return
        if self._columns is None:
            self._columns = ColumnWriter(self._path).__enter__()
        try:
            self._columns.write(columns)
        # A feature changes its type, which records may do.
        except (BadData, TooLargeForColumns):
            self._give_up_columns()

    def _give_up_columns(self) -> None:
        self._has_columns = False
        if self._columns is not None:
            self._columns.__exit__(BadData)
            self._columns = None
