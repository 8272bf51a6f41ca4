# SPDX-License-Identifier: Apache-2.0
"""TFRecord files, gzip or plain: records in, records out, every checksum checked.

A record is framed as: its length (8 bytes), the length's checksum (4), its bytes, their checksum.
"""

import io
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Self

import crc32c
from isal import igzip, isal_zlib

from stoker.errors import BadData
from stoker.examples.files import matching_files

__all__ = [
    "SHARD_NAME",
    "RecordWriter",
    "is_gzip",
    "num_examples",
    "read_records",
    "write_records",
]

SHARD_NAME = "data_tfrecord-00000-of-00001.gz"

_HEADER = struct.Struct("<QI")
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_GZIP = b"\x1f\x8b"
_UNREADABLE: Any = (EOFError, igzip.BadGzipFile, isal_zlib.error)


class RecordWriter:
    """A file of records that is being written, gzip if its name ends in .gz.

    The same records make the same bytes: the gzip header holds neither a name nor a time.
    """

    def __init__(self, path: str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.num_records = 0
        self._file = open(path, "wb")  # noqa: SIM115 - closed by __exit__
        self._stream = _compressing(self._file) if path.endswith(".gz") else self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._file.close()

    def write(self, record: bytes) -> None:
        """Append one record."""
        length = _LENGTH.pack(len(record))
        self._stream.write(length + _checksum(length) + record + _checksum(record))
        self.num_records += 1


def write_records(path: str, records: Iterable[bytes]) -> int:
    """Write a file of records and return their number."""
    with RecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    return writer.num_records


def read_records(path: str) -> Iterator[bytes]:
    """The records of a file; what is damaged is named by its file and offset."""
    with open(path, "rb") as file, _decompressing(file) as stream:
        offset = 0
        while header := _read(stream, _HEADER.size, path, offset):
            length, checksum = _unpacked(header, path, offset)
            if _CHECKSUM.pack(checksum) != _checksum(header[: _LENGTH.size]):
                raise _damaged(path, offset, "the checksum of a record's length is wrong")
            body = _read(stream, length + _CHECKSUM.size, path, offset)
            if len(body) < length + _CHECKSUM.size:
                raise _damaged(path, offset, "the file ends in the middle of a record")
            if body[length:] != _checksum(body[:length]):
                raise _damaged(path, offset, "the checksum of a record is wrong")
            yield body[:length]
            offset += len(header) + len(body)


def num_examples(file_patterns: str | Iterable[str]) -> int:
    """How many records there are in all files that match."""
    return sum(1 for path in matching_files(file_patterns) for _ in read_records(path))


def is_gzip(path: str) -> bool:
    """Whether a file of records is compressed, judged by its content."""
    with open(path, "rb") as file:
        return _starts_with_gzip(file.read(_HEADER.size))


def _starts_with_gzip(start: bytes) -> bool:
    """Gzip's first bytes, unless they are the well-formed length of a record."""
    length, checksum = start[: _LENGTH.size], start[_LENGTH.size :]
    return start.startswith(_GZIP) and checksum != _checksum(length)


def _compressing(file: IO[bytes]) -> IO[bytes]:
    compressed = igzip.IGzipFile(filename="", mode="wb", compresslevel=1, fileobj=file, mtime=0)
    return io.BufferedWriter(compressed, buffer_size=1 << 20)


def _decompressing(file: IO[bytes]) -> IO[bytes]:
    compressed = _starts_with_gzip(file.read(_HEADER.size))
    file.seek(0)
    if not compressed:
        return file
    return io.BufferedReader(igzip.IGzipFile(fileobj=file, mode="rb"), buffer_size=1 << 20)


def _read(stream: IO[bytes], size: int, path: str, offset: int) -> bytes:
    try:
        return stream.read(size)
    except _UNREADABLE as error:
        raise _damaged(path, offset, f"from there on it cannot be decompressed: {error}") from error


def _unpacked(header: bytes, path: str, offset: int) -> tuple[int, int]:
    if len(header) < _HEADER.size:
        raise _damaged(path, offset, "the file ends in the middle of a record")
    length, checksum = _HEADER.unpack(header)
    return length, checksum


def _checksum(data: bytes) -> bytes:
    """The CRC-32C, rotated and shifted, so that a checksum of checksums is not degenerate."""
    crc = crc32c.crc32c(data)
    return _CHECKSUM.pack(((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _damaged(path: str, offset: int, what: str) -> BadData:
    return BadData(f"{path} is damaged at byte {offset} (uncompressed): {what}.")
