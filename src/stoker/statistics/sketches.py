# SPDX-License-Identifier: Apache-2.0
"""Words counted in constant memory: how many are different, and which are frequent.

Both are exact until there are more different words than a sketch has room for.
"""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_HASHED_AT_ONCE = 256  # bytes; longer words are digested one by one
_PENDING_WORDS = 1 << 16
_PENDING_BYTES = 16 << 20
_MULTIPLIERS = np.array([0x87C37B91114253D5, 0x4CF5AD432745937F, 0xFF51AFD7ED558CCD], np.uint64)
_SEED = 0x9E3779B97F4A7C15


class DistinctWords:
    """How many different words there are: the smallest of their hashes tell."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._smallest = np.zeros(0, np.uint64)

    def add(self, words: pa.LargeBinaryArray) -> None:
        """Take in words."""
        self._take(hash_words(words))

    def merge(self, other: "DistinctWords") -> None:
        """Take in what another has taken in."""
        self._take(other._smallest)

    def _take(self, hashes: np.ndarray) -> None:
        if len(self._smallest) == self._room:
            hashes = hashes[hashes < self._smallest[-1]]
        if len(hashes):
            self._smallest = np.union1d(self._smallest, hashes)[: self._room]

    def estimate(self) -> int:
        """How many different words were added."""
        if len(self._smallest) < self._room:
            return len(self._smallest)
        return round((self._room - 1) / (float(self._smallest[-1]) / 2**64))


class FrequentWords:
    """The most frequent words and their counts, by Misra and Gries.

    If there are too many words, so much is taken from the counts of all that enough of them come to
    nothing and can go. What was taken is added in the end: no word occurs more often than told.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._taken = 0.0
        self._words: pa.Array = pa.nulls(0, pa.large_binary())
        self._counts: np.ndarray = np.zeros(0)
        self._pending: list[tuple[pa.Array, np.ndarray]] = []

    def add(self, words: pa.LargeBinaryArray, counts: np.ndarray) -> None:
        """Take in words, and how often or with what weight each occurs."""
        self._pending.append((words, counts))
        pending = [words for words, _ in self._pending]
        if (
            sum(map(len, pending)) > _PENDING_WORDS
            or sum(words.nbytes for words in pending) > _PENDING_BYTES
        ):
            self._merge()

    def merge(self, other: "FrequentWords") -> None:
        """Take in what another has taken in."""
        other._merge()
        self._taken += other._taken
        self.add(other._words, other._counts)

    def estimate(self) -> tuple[list[bytes], np.ndarray]:
        """Words and counts, the most frequent first, and of equally frequent ones the later."""
        self._merge()
        counts = self._counts + self._taken
        keys = [("count", "descending"), ("word", "descending")]
        table = pa.table({"word": self._words, "count": pa.array(counts)})
        order = pc.sort_indices(table, sort_keys=keys)
        return self._words.take(order).to_pylist(), counts[np.asarray(order)]

    def _merge(self) -> None:
        if not self._pending:
            return
        words, counts = zip((self._words, self._counts), *self._pending, strict=True)
        self._pending = []
        encoded = pa.concat_arrays(words).dictionary_encode()
        totals = np.bincount(
            np.asarray(encoded.indices), np.concatenate(counts), len(encoded.dictionary)
        )
        self._words, self._counts = encoded.dictionary, totals
        if len(totals) > self._room:
            self._make_room()

    def _make_room(self) -> None:
        least = float(np.partition(self._counts, -self._room - 1)[-self._room - 1])
        greater = np.flatnonzero(self._counts > least)
        equal = np.flatnonzero(self._counts == least)[len(greater) - self._room :]
        kept = np.concatenate((greater, equal[: self._room - len(greater)]))
        self._words, self._counts = self._words.take(pa.array(kept)), self._counts[kept] - least
        self._taken += least


def hash_words(words: pa.LargeBinaryArray) -> np.ndarray:
    """64 bits of each word, the same on every machine: 8 bytes of all words at a time."""
    if not len(words):
        return np.zeros(0, np.uint64)
    offsets = np.frombuffer(words.buffers()[1], np.int64)[words.offset :][: len(words) + 1]
    begins, sizes = offsets[:-1] - offsets[0], np.diff(offsets)
    contents = memoryview(words.buffers()[2] or b"")[offsets[0] : offsets[-1]]
    padded = np.frombuffer(bytes(contents) + bytes(8), np.uint8)
    eights = np.ndarray(len(padded) - 7, "<u8", padded, strides=(1,))
    hashes: np.ndarray = sizes.astype(np.uint64) * np.uint64(_SEED)
    active = np.flatnonzero(sizes <= _HASHED_AT_ONCE)
    for done in range(0, _HASHED_AT_ONCE, 8):
        active = active[sizes[active] > done]
        if not len(active):
            break
        rest = np.minimum(sizes[active] - done, 8).astype(np.uint64)
        part = eights[begins[active] + done] << (np.uint64(64) - np.uint64(8) * rest)
        hashes[active] = _mix(hashes[active], part)
    hashes = _finish(hashes)
    for long in np.flatnonzero(sizes > _HASHED_AT_ONCE).tolist():
        word = contents[begins[long] : begins[long] + sizes[long]]
        digest = hashlib.blake2b(word, digest_size=8).digest()
        hashes[long] = int.from_bytes(digest, "little")
    return hashes


def _mix(hashes: np.ndarray, part: np.ndarray) -> Any:
    part = _turn(part * _MULTIPLIERS[0], 31) * _MULTIPLIERS[1]
    return _turn(hashes ^ part, 27) * np.uint64(5) + np.uint64(0x52DCE729)


def _finish(hashes: Any) -> Any:
    """Let every bit depend on every other."""
    for _ in range(2):
        hashes = (hashes ^ hashes >> np.uint64(33)) * _MULTIPLIERS[2]
    return hashes ^ hashes >> np.uint64(33)


def _turn(numbers: Any, bits: int) -> Any:
    return numbers << np.uint64(bits) | numbers >> np.uint64(64 - bits)
