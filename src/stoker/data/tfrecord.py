# SPDX-License-Identifier: Apache-2.0
"""TFRecord files, gzip or plain: records in, records out, every checksum checked.

A record is framed as: its length (8 bytes), the length's checksum (4), its bytes, their checksum.
"""

import contextlib
import functools
import io
import itertools
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Self

import crc32c
import numpy as np
from isal import igzip, isal_zlib

from stoker.data.input_files import read_sample, scale_up
from stoker.errors import BadData

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_HEADER_BYTES = _LENGTH.size + _CHECKSUM.size
_GZIP = b"\x1f\x8b"
_BLOCK_BYTES = 4 << 20
_BATCH_BYTES = 8 << 20
_NUM_MEASURED = 16
_UNREADABLE: Any = (EOFError, igzip.BadGzipFile, isal_zlib.error)


class RecordWriter:
    """A file of records that is being written, gzip if its name ends in .gz.

    The same records make the same bytes: the gzip header holds neither a name nor a time.
    """

    def __init__(self, path: str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.num_records = 0
        self._file = open(path, "wb")  # noqa: SIM115 - closed by __exit__
        self._stream = _compress(self._file) if path.endswith(".gz") else self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._file.close()

    def write(self, record: bytes) -> None:
        """Append one record."""
        self._stream.write(header_of(len(record)) + record + _CHECKSUM.pack(checksum(record)))
        self.num_records += 1


def write_records(path: str, records: Iterable[bytes]) -> int:
    """Write a file of records and return their number."""
    with RecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    return writer.num_records


def read_records(path: str) -> Iterator[bytes]:
    """The records of a file; what is damaged is named by its file and offset."""
    return itertools.chain.from_iterable(read_record_blocks(path))


def read_record_blocks(path: str) -> Iterator[list[bytes]]:
    """The records of a file, some megabytes of them at a time."""
    with open(path, "rb") as file, _decompress(file) as stream:
        offset, rest = 0, b""
        while chunk := _read(stream, max(_BLOCK_BYTES, len(rest)), path, offset):
            rest += chunk
            records, size = _unframe(rest, path, offset)
            if records:
                yield records
            offset, rest = offset + size, rest[size:]
        if rest:
            raise _damage(path, offset, "the file ends in the middle of a record")


def fit_batch_rows(path: str, most: int) -> int:
    """How many records of a file to hold at once: `most`, halved until they fit in some megabytes.

    The first records are taken for all. What Transform makes of an image may be 30 times its size.
    """
    sizes = list(itertools.islice(_record_sizes(path), _NUM_MEASURED))
    rows = most
    while rows > 1 and rows * sum(sizes) > _BATCH_BYTES * len(sizes):
        rows //= 2
    return rows


def _record_sizes(path: str) -> Iterator[int]:
    """The length of each record, up to what is damaged: who reads the file will say so."""
    with contextlib.suppress(BadData), open(path, "rb") as file, _decompress(file) as stream:
        while len(header := _read(stream, _HEADER_BYTES, path, 0)) == _HEADER_BYTES:
            (length,) = _LENGTH.unpack_from(header)
            if header != header_of(length):
                return
            yield length
            _read(stream, length + _CHECKSUM.size, path, 0)


def estimate_records(files: Sequence[str]) -> int | None:
    """About how many records some files have, if all are like those at the beginning."""
    sample, share = read_sample(files[0])
    try:
        records, size = _unframe(sample, files[0], 0)
    except BadData:  # whoever reads it will say so
        return None
    return scale_up(len(records), share * size / len(sample), files) if records else None


def _unframe(data: bytes, path: str, offset: int) -> tuple[list[bytes], int]:
    """The whole records at the start of `data`, and how many bytes they take there."""
    starts: list[int] = []
    records: list[bytes] = []
    written: list[int] = []
    start = 0
    while len(data) - start >= _HEADER_BYTES:
        begin = start + _HEADER_BYTES
        (length,) = _LENGTH.unpack_from(data, start)
        if data[start:begin] != header_of(length):
            raise _damage(path, offset + start, "the checksum of a record's length is wrong")
        end = begin + length
        if end + _CHECKSUM.size > len(data):
            break
        starts.append(start)
        records.append(data[begin:end])
        written += _CHECKSUM.unpack_from(data, end)
        start = end + _CHECKSUM.size
    if len(wrong := np.flatnonzero(checksums(records) != written)):
        raise _damage(path, offset + starts[wrong[0]], "the checksum of a record is wrong")
    return records, start


def is_gzip(path: str) -> bool:
    """Whether a file of records is compressed, judged by its content."""
    with open(path, "rb") as file:
        return _starts_with_gzip(file.read(_HEADER_BYTES))


def _starts_with_gzip(start: bytes) -> bool:
    """Gzip's first bytes, unless they are the well-formed length of a record."""
    if not start.startswith(_GZIP):
        return False
    return len(start) < _HEADER_BYTES or start != header_of(*_LENGTH.unpack_from(start))


def _compress(file: IO[bytes]) -> IO[bytes]:
    compressed = igzip.IGzipFile(filename="", mode="wb", compresslevel=1, fileobj=file, mtime=0)
    return io.BufferedWriter(compressed, buffer_size=1 << 20)


def _decompress(file: IO[bytes]) -> IO[bytes]:
    compressed = _starts_with_gzip(file.read(_HEADER_BYTES))
    file.seek(0)
    if not compressed:
        return file
    return io.BufferedReader(igzip.IGzipFile(fileobj=file, mode="rb"), buffer_size=1 << 20)


def _read(stream: IO[bytes], size: int, path: str, offset: int) -> bytes:
    try:
        return stream.read(size)
    except _UNREADABLE as error:
        raise _damage(path, offset, f"from there on it cannot be decompressed: {error}") from error


def checksum(data: bytes) -> int:
    """A CRC-32C, rotated and shifted, so that a checksum of checksums is not degenerate."""
    masked: int = _mask(crc32c.crc32c(data))
    return masked


def checksums(many: Sequence[bytes | memoryview]) -> np.ndarray:
    """The checksum of each."""
    found: np.ndarray = _mask(np.fromiter(map(crc32c.crc32c, many), np.int64, len(many)))
    return found


def _mask(crc: Any) -> Any:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@functools.lru_cache(maxsize=1 << 16)
def header_of(length: int) -> bytes:
    """What comes before a record of this length."""
    packed = _LENGTH.pack(length)
    return packed + _CHECKSUM.pack(checksum(packed))


def _damage(path: str, offset: int, what: str) -> BadData:
    return BadData(
        f"{path} is damaged at byte {offset} (uncompressed): {what}. Write it again, or leave it "
        "out."
    )
