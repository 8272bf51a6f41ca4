# SPDX-License-Identifier: Apache-2.0
"""Blocks of examples to the shards of their splits, on all cores, with their columns beside them.

Blocks are encoded, hashed, framed and compressed in threads, each by itself; what comes of them is
put together in the order of the input, so that the same input always makes the same files.
"""

import collections
import contextlib
import hashlib
import itertools
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from isal import isal_zlib

from stoker.any_python.forking import num_cpus
from stoker.data.column_file import ColumnWriter, TooLargeForColumns, columns_path
from stoker.data.encode import contents, each
from stoker.data.tfrecord import checksums, header_of
from stoker.errors import BadData

_SHARD_BYTES = 128 << 20
"""When a shard has grown to this, before compression, the next one begins."""

_GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # neither a name nor a time
_GZIP_LAST_BLOCK = b"\x03\0"
_GZIP_END = struct.Struct("<II")
_RAW = -15  # deflate without a header
_WORDS = 4  # of 64 bits in a SHA-256

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


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


def write_splits(
    blocks: Iterable[Callable[[], Block]], split_dirs: Sequence[str], hash_buckets: Sequence[int]
) -> None:
    """Send every example to the split that its key falls into, or to the only one.

    Each call makes a block, in a thread; only a few are in memory at a time.
    """

    def make_and_pack(make: Callable[[], Block]) -> list[Packed]:
        return list(_pack_by_split(make(), hash_buckets))

    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(_SplitWriter(folder)) for folder in split_dirs]
        for parts in _in_order(make_and_pack, blocks, num_cpus()):
            for writer, part in zip(writers, parts, strict=True):
                writer.write(part)


def _in_order(
    function: Callable[[_Given], _Made], many: Iterable[_Given], num_threads: int
) -> Iterator[_Made]:
    """The results of all calls, in order; no more calls are begun than threads can be kept busy."""
    waiting: collections.deque[Future[_Made]] = collections.deque()
    with ThreadPoolExecutor(num_threads) as pool:
        try:
            for given in many:
                waiting.append(pool.submit(function, given))
                if len(waiting) > num_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _pack_by_split(block: Block, hash_buckets: Sequence[int]) -> Iterator[Packed]:
    rows = each(block.records)
    frames = _frame(block.records, rows)
    if len(hash_buckets) == 1:
        yield _pack_frames(frames, block.columns)
        return
    indices = split_indices(block.keys() if block.keys else rows, hash_buckets)
    for index in range(len(hash_buckets)):
        mask = _mask(indices == index)
        yield _pack_frames(frames.filter(mask), block.columns and block.columns.filter(mask))


def split_indices(keys: Iterable[bytes], hash_buckets: Sequence[int]) -> np.ndarray:
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
    return _pack_frames(_frame(block.records, each(block.records)), block.columns)


def _pack_frames(frames: pa.LargeBinaryArray, columns: pa.RecordBatch | None) -> Packed:
    data = contents(frames)
    deflate = isal_zlib.compressobj(1, isal_zlib.DEFLATED, _RAW)
    # After a flush whatever another compressor makes can follow.
    deflated = deflate.compress(data) + deflate.flush(isal_zlib.Z_SYNC_FLUSH) if data else b""
    return Packed(deflated=deflated, size=len(data), crc=isal_zlib.crc32(data), columns=columns)


def _frame(records: pa.LargeBinaryArray, rows: Sequence[bytes]) -> pa.LargeBinaryArray:
    """Each record as it is in a file; `rows` are the same records as Python has them."""
    headers = b"".join([header_of(len(row)) for row in rows])
    footers = np.array(checksums(rows), "<u4")
    parts = [_cut(headers, len(rows)), records, _cut(footers, len(rows))]
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.large_binary()))


def _cut(data: bytes | np.ndarray, num_parts: int) -> pa.LargeBinaryArray:
    """Bytes in parts of the same length."""
    buffer = pa.py_buffer(data)
    ends = np.arange(num_parts + 1, dtype=np.int64) * (buffer.size // max(num_parts, 1))
    return pa.Array.from_buffers(pa.large_binary(), num_parts, [None, pa.py_buffer(ends), buffer])


def _mask(chosen: np.ndarray) -> pa.BooleanArray:
    bits = np.packbits(chosen, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(chosen), [None, pa.py_buffer(bits)])


class _SplitWriter:
    """The shards of one split that are being written, at least one, each with its columns.

    Shards get their names, `data_tfrecord-00000-of-0000N.gz`, when their number is known.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._shards: list[ShardWriter] = []

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        self._shards[-1].__exit__(failure)
        for index, shard in enumerate(self._shards):
            name = f"data_tfrecord-{index:05}-of-{len(self._shards):05}.gz"
            if failure is None:
                shard.rename(os.path.join(self._folder, name))
            else:
                shard.remove()

    def write(self, packed: Packed) -> None:
        """Append what a block has for this split."""
        if self._shards[-1].size >= _SHARD_BYTES:
            self._shards[-1].__exit__(None)
            self._begin()
        self._shards[-1].write(packed)

    def _begin(self) -> None:
        path = os.path.join(self._folder, f".data_tfrecord-{len(self._shards):05}.gz")
        self._shards.append(ShardWriter(path))
        self._shards[-1].__enter__()


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

    def remove(self) -> None:
        """Remove the file, which is closed, and its columns."""
        os.unlink(self._path)
        if self._columns is not None:
            os.unlink(columns_path(self._path))

    def rename(self, path: str) -> None:
        """Give the file, which is closed, and its columns another name."""
        os.rename(self._path, path)
        if self._columns is not None:
            os.rename(columns_path(self._path), columns_path(path))
