# SPDX-License-Identifier: Apache-2.0
"""Orders of rows: every row once per epoch, the same from the same seed, from any place on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.data.row_order import Position, RowOrder, interleave_rows


def test_every_epoch_has_every_row_once_in_an_order_of_its_own():
    order = RowOrder(100, seed=1)
    epochs = [order.rows(first, first + 100).tolist() for first in (0, 100, 200)]
    assert all(sorted(rows) == list(range(100)) for rows in epochs)
    assert len({tuple(rows) for rows in epochs}) == 3


def test_a_seed_gives_the_same_order_and_another_does_not():
    first, again, other = (RowOrder(50, seed=seed).rows(0, 50).tolist() for seed in (-3, -3, 4))
    assert first == again != other


def test_rows_come_from_everywhere_at_every_place():
    """Over many seeds each row is as often in the first tenth as any other."""
    counts = np.zeros(100)
    for seed in range(2000):
        counts[RowOrder(100, seed=seed).rows(0, 10)] += 1
    assert 140 < counts.min() < counts.max() < 265  # 200 expected, a deviation is 13


@given(st.integers(1, 20), st.integers(0, 60), st.integers(0, 40), st.none() | st.integers())
def test_reading_from_any_place_gives_what_reading_through_gives(num_rows, start, length, seed):
    stream = RowOrder(num_rows, seed=seed).rows(0, 100)
    assert (
        RowOrder(num_rows, seed=seed).rows(start, start + length) == stream[start:][:length]
    ).all()


def test_without_a_seed_rows_are_in_the_order_of_the_files():
    assert RowOrder(4).rows(2, 9).tolist() == [2, 3, 0, 1, 2, 3, 0]
    assert RowOrder(3, in_order=np.array([0, 2, 1])).rows(1, 5).tolist() == [2, 1, 0, 2]


def test_files_are_read_in_turn_and_replaced_at_their_end():
    assert interleave_rows([3, 5, 2, 4, 0, 3], 2).tolist() == [
        *[0, 3, 1, 4, 2, 5, 6, 8, 7, 9, 10, 11, 14, 12, 15, 13, 16]
    ]
    assert interleave_rows([3, 5], 1) is None


def test_a_position_moves_on_by_batches():
    start = Position(seed=5, epoch=1, row=7)
    assert start.after(3, batch_size=4, num_rows=10) == Position(seed=5, epoch=2, row=9)


def test_a_position_is_never_negative():
    with pytest.raises(ValueError, match="never negative"):
        Position(row=-1)
