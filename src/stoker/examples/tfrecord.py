# SPDX-License-Identifier: Apache-2.0
"""TFRecord files, gzip or plain: records in, records out, every checksum checked.

A record is framed as: its length (8 bytes), the length's checksum (4), its bytes, their checksum.
"""

import functools
import io
import itertools
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Self

import crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from isal import igzip, isal_zlib

from stoker.errors import BadData
from stoker.examples.files import matching_files

__all__ = [
    "RecordWriter",
    "framed",
    "is_gzip",
    "num_examples",
    "read_record_blocks",
    "read_records",
    "write_records",
]

_HEADER = struct.Struct("<QI")
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_GZIP = b"\x1f\x8b"
_BLOCK_BYTES = 4 << 20
_BINARY = pa.large_binary()
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


def framed(records: pa.LargeBinaryArray, rows: Sequence[bytes]) -> pa.LargeBinaryArray:
    """Each record as it is in a file; `rows` are the same records as Python has them."""
    headers = b"".join([_HEADER.pack(len(row), _crc_of_length(len(row))) for row in rows])
    before = np.frombuffer(headers, f"V{_HEADER.size}")
    parts = [_fixed_size(before), records, _fixed_size(_crcs(rows).astype("<u4"))]
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", _BINARY))


def read_records(path: str) -> Iterator[bytes]:
    """The records of a file; what is damaged is named by its file and offset."""
    return itertools.chain.from_iterable(read_record_blocks(path))


def read_record_blocks(path: str) -> Iterator[list[bytes]]:
    """The records of a file, some megabytes of them at a time."""
    with open(path, "rb") as file, _decompressing(file) as stream:
        offset, rest = 0, b""
        while chunk := _read(stream, max(_BLOCK_BYTES, len(rest)), path, offset):
            rest += chunk
            records, size = _unframed(rest, path, offset)
            if records:
                yield records
            offset, rest = offset + size, rest[size:]
        if rest:
            raise _damaged(path, offset, "the file ends in the middle of a record")


def _unframed(data: bytes, path: str, offset: int) -> tuple[list[bytes], int]:
    """The whole records at the start of `data`, and how many bytes they take there."""
    starts, records, checksums = [], [], []
    start = 0
    while len(data) - start >= _HEADER.size:
        length, checksum = _HEADER.unpack_from(data, start)
        if _crc_of_length(length) != checksum:
            raise _damaged(path, offset + start, "the checksum of a record's length is wrong")
        begin = start + _HEADER.size
        end = begin + length
        if end + _CHECKSUM.size > len(data):
            break
        starts.append(start)
        records.append(data[begin:end])
        checksums.append(data[end : end + _CHECKSUM.size])
        start = end + _CHECKSUM.size
    wrong = _crcs(records) != np.frombuffer(b"".join(checksums), "<u4")
    if wrong.any():
        where = offset + starts[int(wrong.argmax())]
        raise _damaged(path, where, "the checksum of a record is wrong")
    return records, start


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


def _checksum(data: bytes) -> bytes:
    return _CHECKSUM.pack(_crc(data))


def _crc(data: bytes) -> int:
    """The CRC-32C, rotated and shifted, so that a checksum of checksums is not degenerate."""
    crc: int = crc32c.crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _crcs(many: Sequence[bytes]) -> np.ndarray:
    """The same of many at once."""
    crcs = np.array(list(map(crc32c.crc32c, many)), np.uint32)
    return (crcs >> np.uint32(15) | crcs << np.uint32(17)) + np.uint32(0xA282EAD8)


@functools.lru_cache(maxsize=1 << 16)
def _crc_of_length(length: int) -> int:
    return _crc(_LENGTH.pack(length))


def _fixed_size(values: np.ndarray) -> pa.LargeBinaryArray:
    """numpy's items as bytes."""
    ends = np.arange(len(values) + 1, dtype=np.int64) * values.itemsize
    return pa.Array.from_buffers(
        _BINARY, len(values), [None, pa.py_buffer(ends), pa.py_buffer(values.tobytes())]
    )


def _damaged(path: str, offset: int, what: str) -> BadData:
    return BadData(f"{path} is damaged at byte {offset} (uncompressed): {what}.")
