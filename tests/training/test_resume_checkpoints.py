# SPDX-License-Identifier: Apache-2.0
"""Checkpoints on disk, and when they are due."""

import os
import random

import numpy as np
import pytest

from stoker.any_python.surroundings import set_entropy
from stoker.training.resume.checkpoints import (
    Checkpoint,
    Checkpointer,
    CheckpointSchedule,
    CheckpointStore,
    draw_seed,
)


def checkpoint(step):
    return Checkpoint(record={"step": step}, arrays={"weights": np.full(3, step, np.float32)})


@pytest.fixture
def store(tmp_path):
    return CheckpointStore(str(tmp_path / "fit-1"))


def files(tmp_path):
    return sorted(path.name for path in (tmp_path / "fit-1").iterdir())


def test_an_empty_store_has_no_newest(store):
    assert store.newest() is None


def test_the_newest_is_what_was_put_last(store):
    for step in range(3):
        store.put(checkpoint(step))
    found = store.newest()
    assert found.record == {"step": 2}
    assert found.arrays["weights"].tolist() == [2, 2, 2]
    assert found.arrays["weights"].dtype == np.float32


def test_only_the_last_two_are_kept(store, tmp_path):
    for step in range(5):
        store.put(checkpoint(step))
    assert files(tmp_path) == ["00000003.npz", "00000004.npz"]


def test_the_end_replaces_all_others(store, tmp_path):
    store.put(checkpoint(1))
    store.put(checkpoint(2), at_the_end=True)
    assert files(tmp_path) == ["end.npz"]
    assert store.newest().record == {"step": 2}


def flip_a_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def cut_off(path):
    path.write_bytes(path.read_bytes()[:100])


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [flip_a_byte, cut_off, empty])
def test_a_damaged_one_gives_way_to_the_one_before(store, tmp_path, damage):
    for step in (1, 2):
        store.put(Checkpoint(record={"step": step}, arrays={"weights": np.zeros(9999)}))
    damage(tmp_path / "fit-1" / "00000001.npz")
    assert store.newest().record == {"step": 1}


def test_that_all_are_damaged_is_told(store, tmp_path):
    store.put(checkpoint(1))
    flip_a_byte(tmp_path / "fit-1" / "00000000.npz")
    told = []
    checkpointer = Checkpointer(str(tmp_path), say=lambda *words: told.append(words))

    assert checkpointer.find(store) is None
    aside = tmp_path / "fit-1" / "00000000.npz.damaged-1"
    assert told == [
        ("warning", f"a checkpoint is damaged, and was renamed to {aside}"),
        ("warning", "starting from the beginning: its checkpoints are damaged"),
    ]


def test_one_that_was_being_written_is_not_seen(store, tmp_path):
    store.put(checkpoint(1))
    (tmp_path / "fit-1" / "00000001.npz.partial").write_bytes(b"half of it")
    assert store.newest().record == {"step": 1}


def test_values_that_would_need_pickle_are_refused(store):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        store.put(Checkpoint(record={}, arrays={"objects": np.array([object()])}))
    assert store.newest() is None


def test_the_first_one_is_due_after_some_seconds_and_a_large_one_later():
    schedule = CheckpointSchedule(None, now=100.0)
    assert schedule.next == 105.0
    assert not schedule.allows(0, now=105.0)
    assert schedule.allows(0, now=110.0)
    assert not schedule.allows(10**9, now=110.0)
    assert schedule.next > 300


def test_what_one_took_counts_more_than_what_was_guessed():
    schedule = CheckpointSchedule(None, now=0.0)
    schedule.note_written(began=10.0, ended=10.3)
    assert schedule.next == pytest.approx(10.3 + 0.3 / 0.015)
    assert schedule.allows(10**12, now=schedule.next)


@pytest.mark.parametrize("cost", [0.001, 0.05, 0.5, 20.0])
def test_checkpoints_cost_less_than_two_percent_of_the_time(cost):
    schedule, now, spent = CheckpointSchedule(None, now=0.0), 0.0, 0.0
    for _ in range(100):
        now = schedule.next
        schedule.note_written(began=now, ended=now + cost)
        spent += cost
    assert spent / schedule.next < 0.02


def test_the_user_may_say_how_often():
    schedule = CheckpointSchedule(60.0, now=0.0)
    assert schedule.next == 60.0
    assert schedule.allows(10**12, now=60.0)
    schedule.note_written(began=60.0, ended=90.0)
    assert schedule.next == 150.0


def test_the_seed_is_drawn_once(tmp_path):
    seed = draw_seed(str(tmp_path / "work"))
    assert draw_seed(str(tmp_path / "work")) == seed
    assert draw_seed(str(tmp_path / "other")) != seed
    assert sorted(os.listdir(tmp_path / "work")) == ["seed", "seed.lock"]


@pytest.mark.parametrize("content", ["", "seven", "1.5", "\udcff"])
def test_a_seed_that_is_damaged_is_set_aside_and_drawn_again(tmp_path, content):
    (tmp_path / "seed").write_text(content, errors="surrogateescape")
    seed = draw_seed(str(tmp_path))
    assert draw_seed(str(tmp_path)) == seed
    assert (tmp_path / "seed.damaged-1").exists()


def test_what_was_trained_with_another_seed_is_not_continued(tmp_path):
    said = []
    checkpointer = Checkpointer(str(tmp_path), say=lambda kind, text: said.append((kind, text)))
    _, store = checkpointer.open_store("fit")
    store.put(Checkpoint(record={"entropy": 1}))
    set_entropy(1)
    assert checkpointer.find(store).record["entropy"] == 1
    set_entropy(2)
    assert checkpointer.find(store) is None
    assert said == [
        (
            "warning",
            f"starting from the beginning: the seed in {tmp_path} is not "
            "the one that it was made with",
        )
    ]


def test_a_damaged_checkpoint_is_set_aside_whatever_is_damaged(tmp_path):
    chance = random.Random(7)
    store = CheckpointStore(str(tmp_path))
    store.put(Checkpoint(record={"step": 1}))
    for number in range(300):
        store.put(Checkpoint(record={"step": 2}, arrays={"weights": np.arange(100.0)}))
        newest = max(path for path in tmp_path.iterdir() if path.suffix == ".npz")
        data = bytearray(newest.read_bytes())
        for _ in range(chance.choice([1, 10, 100])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        newest.write_bytes(data[: chance.choice([len(data), chance.randrange(len(data))])])
        found = store.newest()
        assert found.record in ({"step": 1}, {"step": 2}), number
        if newest.exists():  # what was changed does not matter
            newest.unlink()
    assert store.set_aside
