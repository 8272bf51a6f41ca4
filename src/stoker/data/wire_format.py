# SPDX-License-Identifier: Apache-2.0
"""Serialized tf.Examples as protobuf lays them out, read for many records at once.

    Example ─▶ Features ─▶ entries of the map ─▶ key, Feature ─▶ kind, list ─▶ values

Each arrow is a few numpy operations over all records (or all entries, or all lists) of a batch. A
record that is laid out otherwise, though protobuf allows it, is `Unusual`: fields out of order,
numbers that are not packed, a key twice. Whoever calls has protobuf write such a record anew.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

BYTES, FLOAT, INT64 = 0x0A, 0x12, 0x1A
"""The tags of a Feature's kinds; 0 stands for a Feature without one."""
_FIELD_1, _FIELD_2 = 0x0A, 0x12
_PADDING = bytes(16)  # so that whatever begins in a record can be read to its end
_LONGEST_SIZE = 5  # bytes
_LONGEST_INTEGER = 10
_BLOCK = 1 << 15  # integers
_WORDS: tuple[np.dtype[Any], ...] = (np.dtype("<u4"), np.dtype("<u8"))
_DIGITS = {
    word: np.array(
        [0x7F7F7F7F7F7F7F7F & ((1 << 8 * size) - 1) for size in range(word.itemsize + 1)], word
    )
    for word in _WORDS
}
"""By the number of digits: where in a word they are."""
_JOINTS: dict[np.dtype[Any], np.ndarray] = {
    word: np.array(
        [
            (0x007F007F007F007F & most, 0x7F007F007F007F00 & most, 1),
            (0x00003FFF00003FFF & most, 0x3FFF00003FFF0000 & most, 2),
            (0x000000000FFFFFFF & most, 0x0FFFFFFF00000000 & most, 4),
        ],
        word,
    )
    for word, most in zip(_WORDS, ((1 << 32) - 1, (1 << 64) - 1), strict=True)
}
"""How neighbours in a word are joined: the lower ones, the higher ones, and how far these move."""


class Unusual(Exception):
    """Some records are laid out in another way than protobuf's own writers do it, or are broken."""

    def __init__(self, records: np.ndarray) -> None:
        super().__init__(f"Records {records} are not laid out as usual.")
        self.records = records


@dataclass(frozen=True, slots=True)
class Spans:
    """Parts of a buffer: where each begins and ends, and the record that it is in."""

    begins: np.ndarray
    ends: np.ndarray
    records: np.ndarray

    def __len__(self) -> int:
        return len(self.begins)

    def take(self, which: np.ndarray) -> "Spans":
        """Some of these, in this order."""
        return Spans(self.begins[which], self.ends[which], self.records[which])


@dataclass(frozen=True, slots=True)
class Entries:
    """What the maps of all records hold, record after record."""

    keys: Spans
    kinds: np.ndarray
    lists: Spans
    """The serialized Int64List, FloatList or BytesList; empty where there is no kind."""


class Records:
    """A batch of serialized tf.Examples in one buffer."""

    def __init__(self, records: list[bytes]) -> None:
        self.buffer = b"".join((*records, _PADDING))
        self._bytes = np.frombuffer(self.buffer, np.uint8)
        ends = np.cumsum(np.fromiter(map(len, records), np.int64, len(records)))
        begins = np.concatenate((np.zeros(1, np.int64), ends[:-1])) if len(records) else ends
        self._records = Spans(begins, ends, np.arange(len(records)))

    def __len__(self) -> int:
        return len(self._records)

    def entries(self) -> Entries:
        """The features of all records."""
        features = self._only_field(self._records, _FIELD_1)
        entries, _ = self.repeated(features)
        keys, rest = self._first_field(entries, _FIELD_1)
        values = self._only_field(rest, _FIELD_2, always=True)
        kinds = np.where(values.ends > values.begins, self._bytes[values.begins], 0)
        known = (kinds == INT64) | (kinds == FLOAT) | (kinds == BYTES) | (kinds == 0)
        refuse(~known, values.records)
        return Entries(keys, kinds, self._only_field(values, kinds))

    def packed(self, lists: Spans) -> Spans:
        """The numbers of lists, one after the other."""
        return self._only_field(lists, _FIELD_1)

    def repeated(self, spans: Spans) -> tuple[Spans, np.ndarray]:
        """What is in a repeated field 1, which is all that the spans hold, and how often each."""
        counts = np.zeros(len(spans), np.int64)
        rest, active = spans, np.arange(len(spans))
        found: list[tuple[np.ndarray, Spans]] = []
        while True:
            more = rest.begins < rest.ends
            if not more.all():
                rest, active = rest.take(more), active[more]
            if not len(active):
                break
            counts[active] += 1
            values, rest = self._first_field(rest, _FIELD_1)
            found.append((active, values))
        return _put_in_order(found, counts, spans.records), counts

    def _first_field(self, spans: Spans, tag: int) -> tuple[Spans, Spans]:
        """A field of this tag that each span begins with, and what comes after it."""
        refuse(self._bytes[spans.begins] != tag, spans.records)
        begins, sizes = self._read_sizes(spans.begins + 1)
        ends = begins + sizes
        refuse(ends > spans.ends, spans.records)
        return Spans(begins, ends, spans.records), Spans(ends, spans.ends, spans.records)

    def _only_field(self, spans: Spans, tag: int | np.ndarray, *, always: bool = False) -> Spans:
        """The field of this tag, which fills the whole of each span; nothing in an empty span."""
        empty = spans.begins == spans.ends
        if always:
            refuse(empty, spans.records)
        refuse((self._bytes[spans.begins] != tag) & ~empty, spans.records)
        begins, sizes = self._read_sizes(np.minimum(spans.begins + 1, spans.ends))
        refuse((begins + sizes != spans.ends) & ~empty, spans.records)
        if empty.any():
            begins = np.where(empty, spans.ends, begins)
        return Spans(begins, spans.ends, spans.records)

    def _read_sizes(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The size that stands at each place, and where it ends; -1 if it is too long."""
        sizes = self._bytes[places].astype(np.int64)
        ends = places + 1
        longer = np.flatnonzero(sizes > 0x7F)
        sizes[longer] &= 0x7F
        for digit in range(1, _LONGEST_SIZE):
            if not len(longer):
                break
            low = self._bytes[ends[longer]].astype(np.int64)
            sizes[longer] |= (low & 0x7F) << (7 * digit)
            ends[longer] += 1
            longer = longer[low > 0x7F]
        sizes[longer] = -1
        return ends, sizes


def refuse(wrong: np.ndarray, records: np.ndarray) -> None:
    """Say that the records are unusual of which something is wrong."""
    if wrong.any():
        raise Unusual(np.unique(records[wrong]))


def _put_in_order(
    found: list[tuple[np.ndarray, Spans]], counts: np.ndarray, records: np.ndarray
) -> Spans:
    """The values of each span one after another; those found are of each its first, its second…"""
    if len(found) == 1 and len(found[0][0]) == len(counts):
        return found[0][1]
    places = np.cumsum(counts) - counts
    begins, ends = np.empty(int(counts.sum()), np.int64), np.empty(int(counts.sum()), np.int64)
    for number, (active, values) in enumerate(found):
        begins[places[active] + number] = values.begins
        ends[places[active] + number] = values.ends
    return Spans(begins, ends, np.repeat(records, counts))


def read_varints(digits: np.ndarray, packed: Spans) -> tuple[np.ndarray, np.ndarray]:
    """The integers in spans whose digits are given one span after another, and each one's count."""
    ends = np.flatnonzero(digits < 0x80)
    ends += 1
    span_ends = np.cumsum(packed.ends - packed.begins)
    if len(ends) == len(span_ends) and np.array_equal(ends, span_ends):
        lengths = np.ones(len(ends), np.int64)
    else:
        before = np.searchsorted(ends, span_ends, "right")
        lengths = np.diff(before, prepend=0)
        last = ends[before - 1] if len(ends) else np.zeros_like(before)
        refuse(np.where(before == 0, 0, last) != span_ends, packed.records)
    try:
        return _join_digits(digits, ends), lengths
    except OverflowError:
        too_long = np.diff(ends, prepend=0) > _LONGEST_INTEGER
        raise Unusual(np.unique(np.repeat(packed.records, lengths)[too_long])) from None


def _join_digits(digits: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The integers whose digits, in base 128 and the lowest first, end there.

    Block by block, so that what is in between stays in the processor's cache.
    """
    if len(ends) == len(digits):  # one digit each
        return digits.astype(np.int64)
    joined = np.empty(len(ends), np.int64)
    for first in range(0, len(ends), _BLOCK):
        block = slice(first, first + _BLOCK)
        begins = np.empty_like(ends[block])
        begins[0], begins[1:] = ends[first - 1] if first else 0, ends[block][:-1]
        sizes = ends[block] - begins
        if sizes.max() > _LONGEST_INTEGER:
            raise OverflowError("an integer has too many digits")
        begin, end = int(begins[0]), int(ends[block][-1])
        padded = digits[begin : end + 8]
        if len(padded) < end - begin + 8:
            padded = np.concatenate((padded, np.zeros(8, np.uint8)))
        joined[block] = _join_block(padded, begins - begin, sizes)
    return joined


def _join_block(padded: np.ndarray, begins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Four or eight digits are read as one word.

    Of these, pairs of digits are joined, then pairs of pairs, and then the halves.
    """
    longest = int(sizes.max())
    word = np.dtype("<u4" if longest <= 4 else "<u8")
    words: np.ndarray = np.ndarray(len(padded) - 8, word, padded, strides=(1,))[begins]
    words &= _DIGITS[word][sizes if longest <= 8 else np.minimum(sizes, 8)]
    for low, high, shift in _JOINTS[word][: (longest - 1).bit_length()]:
        higher = words & high
        higher >>= shift
        words &= low
        words |= higher
    for digit in range(8, longest):
        longer = np.flatnonzero(sizes > digit)
        last = (padded[begins[longer] + digit] & np.uint8(0x7F)).astype(np.uint64)
        words[longer] |= last << np.uint64(7 * digit)
    return words.view(np.int64) if longest > 4 else words
