# SPDX-License-Identifier: Apache-2.0
"""Arrow columns to serialized tf.Examples, whole columns at a time.

The bytes are those of protobuf's deterministic serialization, because the split of an example is
the hash of its bytes. (tfx_bsl's encoder is as fast, but writes features in a random order.)
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["as_lists", "encode", "encode_feature"]

_BINARY = pa.large_binary()
_KIND_TAGS = {"bytes": b"\x0a", "float": b"\x12", "int64": b"\x1a"}  # Feature's oneof `kind`
_FIELD_1, _FIELD_2 = b"\x0a", b"\x12"


def as_lists(column: pa.Array) -> pa.Array:
    """A column of single values as one of lists: a null becomes an empty list."""
    if pa.types.is_null(column.type):
        return column
    ends = pa.py_buffer(_ends(_validity(column)))
    offsets = pa.Array.from_buffers(pa.int64(), len(column) + 1, [None, ends])
    return pa.LargeListArray.from_arrays(offsets, column.drop_null())


def encode(batch: pa.RecordBatch) -> pa.LargeBinaryArray:
    """One serialized tf.Example per row.

    Columns are lists of int64, float32 or binary; a null list is written as an empty one of its
    type. A column of Arrow's null type is written as a feature without a kind.
    """
    names = sorted(batch.schema.names, key=_map_order)
    entries = [_map_entry(name, encode_feature(batch.column(name))) for name in names]
    return _field(_FIELD_1, _joined(*entries))


def encode_feature(column: pa.Array) -> pa.LargeBinaryArray:
    """One serialized tf.train.Feature per row."""
    if pa.types.is_null(column.type):
        return _binary(np.zeros(len(column) + 1, np.int64), None)
    ends = _ends(_numpy(pc.list_value_length(column), np.int64) * _validity(column))
    values = column.flatten()
    assert not values.null_count, "a list holds a null"
    if pa.types.is_int64(values.type):
        kind, body = "int64", _packed(_varints(_numpy(values, np.uint64)), ends)
    elif pa.types.is_float32(values.type):
        kind, body = "float", _packed(_fixed32(_numpy(values, np.float32)), ends)
    else:
        kind, body = "bytes", _regrouped(_field(_FIELD_1, values.cast(_BINARY)), ends)
    return _field(_KIND_TAGS[kind], body)


def _map_order(name: str) -> bytes:
    """protobuf's order of map keys: by their bytes, but "ab" before "a", its own beginning."""
    return name.encode() + b"\xff"


def _map_entry(name: str, feature: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    key = name.encode()
    prefix = _FIELD_1 + _varints(np.array([len(key)], np.uint64))[0].as_py() + key
    return _field(_FIELD_1, _joined(prefix, _field(_FIELD_2, feature)))


def _packed(numbers: pa.LargeBinaryArray, ends: np.ndarray) -> pa.LargeBinaryArray:
    """A packed repeated field 1, which protobuf leaves out when it is empty."""
    filled = np.diff(ends) > 0
    bodies = _field(_FIELD_1, _regrouped(numbers, np.concatenate(([0], ends[1:][filled]))))
    return _regrouped(bodies, _ends(filled))


def _field(tag: bytes, body: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """A length-delimited field: its tag, the length of its body, its body."""
    lengths = _numpy(pc.binary_length(body), np.uint64)
    return _joined(tag, _varints(lengths), body)


def _joined(*parts: pa.LargeBinaryArray | bytes) -> pa.LargeBinaryArray:
    joinable = [_scalar(part) if isinstance(part, bytes) else part for part in parts]
    return pc.binary_join_element_wise(*joinable, _scalar(b""))


def _regrouped(pieces: pa.LargeBinaryArray, ends: np.ndarray) -> pa.LargeBinaryArray:
    """Neighbouring pieces put together: row i is made of the pieces ends[i] to ends[i + 1]."""
    _, offsets, data = pieces.buffers()
    starts = np.frombuffer(offsets, np.int64)[pieces.offset :][ends] if len(pieces) else ends
    return _binary(starts, data)


def _varints(numbers: np.ndarray) -> pa.LargeBinaryArray:
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
    return _binary(_ends(sizes), pa.py_buffer(digits[used]))


def _fixed32(numbers: np.ndarray) -> pa.LargeBinaryArray:
    ends = np.arange(len(numbers) + 1, dtype=np.int64) * 4
    return _binary(ends, pa.py_buffer(numbers.astype("<f4")))


def _scalar(data: bytes) -> pa.Scalar:
    return _binary(np.array([0, len(data)], np.int64), pa.py_buffer(data))[0]


def _numpy(array: pa.Array, dtype: type[np.generic]) -> np.ndarray:
    """The numbers of an array. (numpy's and Arrow's own conversions import pandas.)"""
    numbers = np.frombuffer(array.buffers()[1] or b"", dtype)
    return numbers[array.offset : array.offset + len(array)]


def _validity(column: pa.Array) -> np.ndarray:
    return _numpy(column.is_valid().cast(pa.uint8()), np.uint8)


def _ends(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def _binary(offsets: np.ndarray, data: pa.Buffer | None) -> pa.LargeBinaryArray:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), data or pa.py_buffer(b"")]
    return pa.Array.from_buffers(_BINARY, len(offsets) - 1, buffers)
