# SPDX-License-Identifier: Apache-2.0
"""Arrow columns to serialized tf.Examples, whole columns at a time.

The bytes are those of protobuf's deterministic serialization, because the split of an example is
the hash of its bytes. (tfx_bsl's encoder is as fast, but writes features in a random order.)
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_BINARY = pa.large_binary()
_KIND_TAGS = {
    "bytes": b"\x0a",
    "word": b"\x0a",
    "float": b"\x12",
    "int64": b"\x1a",
}  # Feature's oneof `kind`
_FIELD_1, _FIELD_2 = b"\x0a", b"\x12"
_Kind = Literal["bytes", "word", "float", "int64", "none"]
"""What a column holds; words are bytes of which no row has more than one."""
_EMPTY, _NULL = -1, -2  # instead of the size of a row's values
_MOST_SIZES = 1 << 16
_MOST_JOINED = 8
Nulls = Literal["empty", "unset", "absent"]
"""What a null is written as: an empty list of its type, a feature without a kind, or nothing."""
_Part = Any
"""A value per row, as a LargeBinaryArray, or bytes that are the same for all."""


def as_lists(column: pa.Array, *, empty_is_null: bool = False) -> pa.Array:
    """A column of single values as one of lists: a null becomes an empty list, or stays a null."""
    if pa.types.is_null(column.type):
        return column
    return group(column.drop_null(), _validity(column), empty_is_null=empty_is_null)


def group(
    values: pa.Array, lengths: np.ndarray, *, empty_is_null: bool = False
) -> pa.LargeListArray:
    """Neighbouring values as lists of the given lengths."""
    ends = pa.py_buffer(ends_of(lengths))
    validity = None
    if empty_is_null:
        validity = pa.py_buffer(np.packbits(lengths > 0, bitorder="little"))
    kind = pa.large_list(values.type)
    return pa.Array.from_buffers(kind, len(lengths), [validity, ends], children=[values])


def encode(batch: pa.RecordBatch, nulls: Nulls = "empty") -> pa.LargeBinaryArray:
    """One serialized tf.Example per row.

    Columns are lists of int64, float32 or binary; `nulls` says what a null list is written as. A
    column of Arrow's null type has no type to be empty of: its features are without a kind, or not
    there.
    """
    parts: list[_Part] = []
    sizes = np.zeros(batch.num_rows, np.int64)
    columns = zip(batch.schema.names, batch.columns, strict=True)
    for name, column in sorted(columns, key=lambda pair: _map_order(pair[0])):
        for part in _entry(name.encode(), column, nulls):
            parts.append(part)
            sizes += len(part) if isinstance(part, bytes) else sizes_of(part)
    parts = parts or [_nothing(batch.num_rows)]
    return join(headers_of(sizes, functools.partial(field_header, _FIELD_1)), *parts)


def encode_feature(column: pa.Array) -> pa.LargeBinaryArray:
    """One serialized tf.train.Feature per row."""
    kind, body, sizes = _values(column)
    return join(headers_of(sizes, functools.partial(_feature_header, kind)), body)


def as_array(values: Sequence[bytes]) -> pa.LargeBinaryArray:
    """Values as an array, the inverse of `each`. (pa.array would import pandas.)"""
    return _binary(ends_of([len(value) for value in values]), pa.py_buffer(b"".join(values)))


def each(array: pa.LargeBinaryArray) -> list[bytes]:
    """The values of an array without nulls. (`to_pylist` takes ten times as long.)"""
    ends = offsets_of(array)
    whole = contents(array).tobytes()
    return [whole[begin:end] for begin, end in itertools.pairwise((ends - ends[0]).tolist())]


def views(array: pa.LargeBinaryArray) -> list[memoryview]:
    """The values, one by one, as parts of the whole: nothing is copied."""
    ends = offsets_of(array)
    whole = contents(array)
    return [whole[begin:end] for begin, end in itertools.pairwise((ends - ends[0]).tolist())]


def contents(array: pa.LargeBinaryArray) -> memoryview:
    """The values of an array, one after the other."""
    ends = offsets_of(array)
    return memoryview(array.buffers()[2] or b"")[ends[0] : ends[-1]]


def _entry(name: bytes, column: pa.Array, nulls: Nulls) -> tuple[_Part, ...]:
    """What each row has in the map for one feature."""
    if nulls == "absent" and pa.types.is_null(column.type):
        return ()
    kind, body, sizes = _values(column)
    header = functools.partial(_entry_header, name, kind)
    if nulls == "empty" or kind == "none" or not column.null_count:
        return headers_of(sizes, header), body
    instead = _entry_header(name, "none", 0) if nulls == "unset" else b""
    sizes = np.where(_validity(column), sizes, _NULL)
    return headers_of(sizes, lambda size: instead if size == _NULL else header(size)), body


def _map_order(name: str) -> bytes:
    """protobuf's order of map keys: by their bytes, but "ab" before "a", its own beginning."""
    return name.encode() + b"\xff"


def _values(column: pa.Array) -> tuple[_Kind, pa.LargeBinaryArray, np.ndarray]:
    """The values of each row, serialized, without what comes before them; and their sizes."""
    if pa.types.is_null(column.type):
        return "none", _nothing(len(column)), np.zeros(len(column), np.int64)
    lengths = _numpy(pc.list_value_length(column), np.int64) * _validity(column)
    ends, values = ends_of(lengths), column.flatten()
    assert not values.null_count, "a list holds a null"
    kind: _Kind
    if pa.types.is_int64(values.type):
        kind, pieces = "int64", varints(_numpy(values, np.uint64))
    elif pa.types.is_float32(values.type):
        kind, pieces = "float", as_four_bytes(_numpy(values, np.float32).astype("<f4"))
    else:
        kind, pieces = "word", values.cast(_BINARY)
        if lengths.max(initial=0) > 1:
            header = functools.partial(field_header, _FIELD_1)
            kind, pieces = "bytes", join(headers_of(sizes_of(pieces), header), pieces)
    body = _regroup(pieces, ends)
    return kind, body, np.where(lengths, sizes_of(body), _EMPTY)


def _entry_header(name: bytes, kind: _Kind, size: int) -> bytes:
    """What comes before the `size` bytes of a feature's values in an entry of the map."""
    feature, size = _feature_header(kind, size), max(size, 0)
    key = field_header(_FIELD_1, len(name)) + name
    value = field_header(_FIELD_2, len(feature) + size) + feature
    return field_header(_FIELD_1, len(key) + len(value) + size) + key + value


def _feature_header(kind: _Kind, size: int) -> bytes:
    if kind == "none":
        return b""
    if size == _EMPTY:
        return field_header(_KIND_TAGS[kind], 0)
    # Numbers are packed in one field 1; among several words each has its own already.
    first = field_header(_FIELD_1, size) if kind != "bytes" else b""
    return field_header(_KIND_TAGS[kind], len(first) + size) + first


def field_header(tag: bytes, size: int) -> bytes:
    """The tag and the length of a field of `size` bytes."""
    digits = bytearray()
    while size > 0x7F:
        digits.append(size & 0x7F | 0x80)
        size >>= 7
    digits.append(size)
    return tag + bytes(digits)


def headers_of(sizes: np.ndarray, header: Callable[[int], bytes]) -> _Part:
    """The header of each row; it depends on the row's size alone, and sizes are few."""
    if not len(sizes):
        return _nothing(0)
    least, most = int(sizes.min()), int(sizes.max())
    if least == most:
        return header(least)
    if most - least <= _MOST_SIZES:  # without sorting them
        places = sizes - least
        is_there = np.zeros(most - least + 1, bool)
        is_there[places] = True
        found, which = np.flatnonzero(is_there) + least, (np.cumsum(is_there) - 1)[places]
    else:
        found, which = np.unique(sizes, return_inverse=True)
    return pc.take(as_array([header(size) for size in found.tolist()]), as_integers(which))


def join(*parts: _Part) -> pa.LargeBinaryArray:
    """Each row's parts, one after another: eight at a time.

    Arrow reads from all parts in turn, and was seen to take twice as long for 37 of them at once.
    """
    joinable = [_scalar(part) if isinstance(part, bytes) else part for part in parts]
    while len(joinable) > 1:
        starts = range(0, len(joinable), _MOST_JOINED)
        groups = [joinable[start : start + _MOST_JOINED] for start in starts]
        joinable = [pc.binary_join_element_wise(*group, _scalar(b"")) for group in groups]
    return joinable[0]


def _regroup(pieces: pa.LargeBinaryArray, ends: np.ndarray) -> pa.LargeBinaryArray:
    """Neighbouring pieces put together: row i is made of the pieces ends[i] to ends[i + 1]."""
    return _binary(offsets_of(pieces)[ends], pieces.buffers()[2])


def varints(numbers: np.ndarray) -> pa.LargeBinaryArray:
    """Each number in base 128, low digits first, the high bit set on all but the last digit."""
    sizes = np.ones(len(numbers), np.int64)
    longest = max(1, (int(numbers.max(initial=0)).bit_length() + 6) // 7)
    for digit in range(1, longest):
        sizes += numbers >= np.uint64(1 << (7 * digit))
    digits = np.empty((len(numbers), longest), np.uint8)
    for digit in range(longest):
        low = (numbers >> np.uint64(7 * digit)).astype(np.uint8) & np.uint8(0x7F)
        digits[:, digit] = low | np.where(sizes > digit + 1, np.uint8(0x80), np.uint8(0))
    used = np.arange(longest) < sizes[:, None]
    return _binary(ends_of(sizes), pa.py_buffer(digits[used]))


def as_four_bytes(numbers: np.ndarray) -> pa.LargeBinaryArray:
    """Each number of 32 bits as it lies in memory."""
    return _binary(np.arange(len(numbers) + 1, dtype=np.int64) * 4, pa.py_buffer(numbers))


def _nothing(num_rows: int) -> pa.LargeBinaryArray:
    return _binary(np.zeros(num_rows + 1, np.int64), None)


def _scalar(data: bytes) -> pa.Scalar:
    return _binary(np.array([0, len(data)], np.int64), pa.py_buffer(data))[0]


def sizes_of(array: pa.LargeBinaryArray) -> np.ndarray:
    """How many bytes each value has."""
    return np.diff(offsets_of(array))


def _numpy(array: pa.Array, dtype: type[np.generic]) -> np.ndarray:
    """The numbers of an array. (numpy's and Arrow's own conversions import pandas.)"""
    numbers = np.frombuffer(array.buffers()[1] or b"", dtype)
    return numbers[array.offset : array.offset + len(array)]


def _validity(column: pa.Array) -> np.ndarray:
    return _numpy(column.is_valid().cast(pa.uint8()), np.uint8)


def offsets_of(array: pa.LargeBinaryArray) -> np.ndarray:
    """Where each value begins, and where the last one ends."""
    if not len(array):
        return np.zeros(1, np.int64)
    return np.frombuffer(array.buffers()[1], np.int64)[array.offset :][: len(array) + 1]


def as_integers(numbers: np.ndarray) -> pa.Int64Array:
    """numpy's numbers as Arrow's. (pa.array would import pandas.)"""
    data = pa.py_buffer(np.ascontiguousarray(numbers, np.int64))
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, data])


def ends_of(lengths: np.ndarray | Sequence[int]) -> np.ndarray:
    """Where parts of these lengths end that lie one after another, and a 0 before."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def _binary(offsets: np.ndarray, data: pa.Buffer | None) -> pa.LargeBinaryArray:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), data or pa.py_buffer(b"")]
    return pa.Array.from_buffers(_BINARY, len(offsets) - 1, buffers)
