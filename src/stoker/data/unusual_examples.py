# SPDX-License-Identifier: Apache-2.0
"""A tf.Example that is laid out in a way that protobuf allows, but none of its writers chooses.

It is read field by field, by protobuf's rules: what occurs twice is merged, or the last counts;
what is not known is passed over.
"""

from collections.abc import Iterator
from typing import NamedTuple

from stoker.data.encode import field_header
from stoker.data.wire_format import BYTES, FLOAT, INT64

_VARINT, _FIXED64, _SIZED, _BEGIN_GROUP, _END_GROUP, _FIXED32 = range(6)
_LONGEST_VARINT = 10
_KINDS = {1: BYTES, 2: FLOAT, 3: INT64}


class _Field(NamedTuple):
    number: int
    wire_type: int
    content: bytes


def write_anew(record: bytes) -> bytes:
    """The same example in the usual layout. Raises ValueError if it is none."""
    features: dict[bytes, bytes] = {}
    for entry in _find(_merge(record, 1), 1):
        key = b"".join(_find(entry, 1)[-1:])
        features[key] = _write_feature(_merge(entry, 2))
    entries = [
        _write_field(1, _write_field(1, key) + _write_field(2, value))
        for key, value in features.items()
    ]
    return _write_field(1, b"".join(entries))


def _write_feature(feature: bytes) -> bytes:
    number, lists = 0, b""
    for field in _read_fields(feature):
        if field.number in _KINDS and field.wire_type == _SIZED:
            lists = lists + field.content if field.number == number else field.content
            number = field.number
    if not number:
        return b""
    if _KINDS[number] == BYTES:
        values = b"".join(_write_field(1, word) for word in _find(lists, 1))
    else:
        single = _FIXED32 if _KINDS[number] == FLOAT else _VARINT
        kinds = (single, _SIZED)
        parts = [one for one in _read_fields(lists) if one.number == 1 and one.wire_type in kinds]
        packed = b"".join(part.content for part in parts)
        _check_packed(packed, single)
        values = _write_field(1, packed) if packed else b""
    return _write_field(number, values)


def _check_packed(packed: bytes, wire_type: int) -> None:
    place = 0
    while place < len(packed):
        place = _end_of(packed, place, wire_type)


def _merge(message: bytes, number: int) -> bytes:
    """A field that is a message: what occurs several times is as good as one after another."""
    return b"".join(_find(message, number))


def _find(message: bytes, number: int) -> list[bytes]:
    return [
        field.content
        for field in _read_fields(message)
        if field.number == number and field.wire_type == _SIZED
    ]


def _read_fields(message: bytes) -> Iterator[_Field]:
    place = 0
    while place < len(message):
        number, wire_type, begin = _read_tag(message, place)
        place = _end_of(message, begin, wire_type, number)
        if wire_type == _SIZED:
            _, begin = _read_varint(message, begin)
        yield _Field(number, wire_type, message[begin:place])


def _end_of(message: bytes, begin: int, wire_type: int, number: int = 0) -> int:
    """Where the value ends that begins there."""
    if wire_type == _VARINT:
        _, end = _read_varint(message, begin)
    elif wire_type == _SIZED:
        size, begin = _read_varint(message, begin)
        end = begin + size
    elif wire_type == _BEGIN_GROUP:
        end = _end_of_group(message, begin, number)
    elif wire_type in (_FIXED32, _FIXED64):
        end = begin + (4 if wire_type == _FIXED32 else 8)
    else:
        raise ValueError(f"a field is of the wire type {wire_type}, which there is not")
    if end > len(message):
        raise ValueError("it ends too early")
    return end


def _end_of_group(message: bytes, place: int, number: int) -> int:
    while True:
        inner, wire_type, place = _read_tag(message, place)
        if wire_type == _END_GROUP:
            if inner != number:
                raise ValueError("a group ends that did not begin")
            return place
        place = _end_of(message, place, wire_type, inner)


def _read_tag(message: bytes, place: int) -> tuple[int, int, int]:
    """The number and the wire type of a field, and where they end."""
    tag, place = _read_varint(message, place)
    if not 0 < tag >> 3 < 1 << 29:
        raise ValueError(f"a field has the number {tag >> 3}")
    return tag >> 3, tag & 7, place


def _read_varint(message: bytes, place: int) -> tuple[int, int]:
    number = 0
    for position, digit in enumerate(message[place : place + _LONGEST_VARINT]):
        number |= (digit & 0x7F) << 7 * position
        if digit < 0x80:
            return number, place + position + 1
    raise ValueError("a number does not end")


def _write_field(number: int, content: bytes) -> bytes:
    """A field of variable size, with its tag."""
    return field_header(bytes([number << 3 | _SIZED]), len(content)) + content
