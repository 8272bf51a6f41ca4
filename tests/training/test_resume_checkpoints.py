# SPDX-License-Identifier: Apache-2.0
"""Checkpoints on disk, and when they are due."""

import os

import numpy as np
import pytest

from stoker.training.resume.checkpoints import Checkpoint, Pace, Shelf, seed_in


def checkpoint(step):
    return Checkpoint(record={"step": step}, arrays={"weights": np.full(3, step, np.float32)})


@pytest.fixture
def shelf(tmp_path):
    return Shelf(str(tmp_path / "fit-1"))


def files(tmp_path):
    return sorted(path.name for path in (tmp_path / "fit-1").iterdir())


def test_an_empty_shelf_has_no_newest(shelf):
    assert shelf.newest() is None


def test_the_newest_is_what_was_put_last(shelf):
    for step in range(3):
        shelf.put(checkpoint(step))
    found = shelf.newest()
    assert found.record == {"step": 2}
    assert found.arrays["weights"].tolist() == [2, 2, 2]
    assert found.arrays["weights"].dtype == np.float32


def test_only_the_last_two_are_kept(shelf, tmp_path):
    for step in range(5):
        shelf.put(checkpoint(step))
    assert files(tmp_path) == ["00000003.npz", "00000004.npz"]


def test_the_end_replaces_all_others(shelf, tmp_path):
    shelf.put(checkpoint(1))
    shelf.put(checkpoint(2), at_the_end=True)
    assert files(tmp_path) == ["end.npz"]
    assert shelf.newest().record == {"step": 2}


def flip_a_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def cut_off(path):
    path.write_bytes(path.read_bytes()[:100])


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [flip_a_byte, cut_off, empty])
def test_a_damaged_one_gives_way_to_the_one_before(shelf, tmp_path, damage):
    for step in (1, 2):
        shelf.put(Checkpoint(record={"step": step}, arrays={"weights": np.zeros(9999)}))
    damage(tmp_path / "fit-1" / "00000001.npz")
    assert shelf.newest().record == {"step": 1}


def test_one_that_was_being_written_is_not_seen(shelf, tmp_path):
    shelf.put(checkpoint(1))
    (tmp_path / "fit-1" / "00000001.npz.partial").write_bytes(b"half of it")
    assert shelf.newest().record == {"step": 1}


def test_values_that_would_need_pickle_are_refused(shelf):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        shelf.put(Checkpoint(record={}, arrays={"objects": np.array([object()])}))
    assert shelf.newest() is None


def test_the_first_one_is_due_after_some_seconds_and_a_large_one_later():
    pace = Pace(None, now=100.0)
    assert pace.next == 105.0
    assert not pace.allows(0, now=105.0)
    assert pace.allows(0, now=110.0)
    assert not pace.allows(10**9, now=110.0)
    assert pace.next > 300


def test_what_one_took_counts_more_than_what_was_guessed():
    pace = Pace(None, now=0.0)
    pace.wrote(began=10.0, ended=10.3)
    assert pace.next == pytest.approx(10.3 + 0.3 / 0.015)
    assert pace.allows(10**12, now=pace.next)


@pytest.mark.parametrize("cost", [0.001, 0.05, 0.5, 20.0])
def test_checkpoints_cost_less_than_two_percent_of_the_time(cost):
    pace, now, spent = Pace(None, now=0.0), 0.0, 0.0
    for _ in range(100):
        now = pace.next
        pace.wrote(began=now, ended=now + cost)
        spent += cost
    assert spent / pace.next < 0.02


def test_the_user_may_say_how_often():
    pace = Pace(60.0, now=0.0)
    assert pace.next == 60.0
    assert pace.allows(10**12, now=60.0)
    pace.wrote(began=60.0, ended=90.0)
    assert pace.next == 150.0


def test_the_seed_is_drawn_once(tmp_path):
    seed = seed_in(str(tmp_path / "work"))
    assert seed_in(str(tmp_path / "work")) == seed
    assert seed_in(str(tmp_path / "other")) != seed
    assert os.listdir(tmp_path / "work") == ["seed"]
