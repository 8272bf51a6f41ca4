# SPDX-License-Identifier: Apache-2.0
"""Words in constant memory: exact while there is room, and near the truth beyond it."""

import numpy as np
import pyarrow as pa
import pytest

from stoker.statistics import sketches
from stoker.statistics.sketches import DistinctWords, FrequentWords, hash_words


def words(numbers):
    return pa.array([b"word %d" % number for number in numbers], pa.large_binary())


def test_few_words_are_counted_exactly():
    distinct = DistinctWords(100)
    for begin in (0, 30, 60):
        distinct.add(words(range(begin, begin + 39)))
    assert distinct.estimate() == 99


def test_many_words_are_estimated_to_a_few_percent():
    distinct = DistinctWords(1 << 14)
    for begin in range(0, 200_000, 10_000):
        distinct.add(words(range(begin, begin + 20_000)))
    assert distinct.estimate() == pytest.approx(210_000, rel=0.03)


def test_hashes_depend_on_every_byte_and_on_nothing_else():
    long = [b"x" * size for size in (7, 8, 9, 255, 256, 257, 5000)]
    found = hash_words(pa.array([b"", b"\0", b"\0\0", b"a", *long], pa.large_binary()))
    assert len(set(found.tolist())) == 11
    again = pa.array([b"first", b"a", b"last"], pa.large_binary())[1:]
    assert hash_words(again)[0] == found[3]


def test_the_most_frequent_words_come_first_and_of_equal_ones_the_later():
    frequent = FrequentWords(10)
    frequent.add(words([1, 2, 3]), np.array([5.0, 1.0, 5.0]))
    frequent.add(words([2, 4]), np.array([1.5, 9.0]))
    found, counts = frequent.estimate()
    assert found == [b"word 4", b"word 3", b"word 1", b"word 2"]
    assert counts.tolist() == [9, 5, 5, 2.5]


def test_frequent_words_are_kept_among_many_rare_ones(monkeypatch):
    monkeypatch.setattr(sketches, "_PENDING_WORDS", 500)
    frequent = FrequentWords(100)
    for begin in range(0, 20_000, 100):
        frequent.add(words(range(begin, begin + 100)), np.ones(100))
        frequent.add(words([-1, -2]), np.array([20.0, 10.0]))
    found, counts = frequent.estimate()
    assert found[:2] == [b"word -1", b"word -2"]
    assert len(found) == 100
    assert counts[:2] == pytest.approx([4000, 2000], rel=0.05)
    assert (counts[:2] >= [4000, 2000]).all()
