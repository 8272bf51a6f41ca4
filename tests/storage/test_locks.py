# SPDX-License-Identifier: Apache-2.0
"""Locks, and directories that outlive a run that was stopped, with what was in them or without."""

import pytest

from stoker.storage.locks import hold_dir, hold_lock, hold_run_lock, is_dir_held, is_locked
from stoker.storage.root import Root


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "work")


@pytest.fixture
def alone(tmp_path):
    return str(tmp_path / "tmp" / "alone")


def leave(directory, alone, tmp_path):
    """What a run that was stopped leaves."""

    def work():
        with hold_dir(directory, otherwise=alone) as held:
            (tmp_path / "work" / "part").mkdir()
            (tmp_path / "work" / "state").write_text("half")
            assert held == directory
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()


def test_a_stopped_run_leaves_it_for_the_next(directory, alone, tmp_path):
    leave(directory, alone, tmp_path)
    with hold_dir(directory, otherwise=alone) as held:
        assert (tmp_path / "work" / "state").read_text() == "half"
        assert held == directory
    assert not (tmp_path / "work").exists()


def test_a_fresh_start_removes_what_was_left(directory, alone, tmp_path):
    leave(directory, alone, tmp_path)
    with hold_dir(directory, otherwise=alone, fresh=True):
        assert list((tmp_path / "work").iterdir()) == []


def test_it_is_held_while_work_goes_on(directory, alone):
    assert not is_dir_held(directory)
    with hold_dir(directory, otherwise=alone):
        assert is_dir_held(directory)
    assert not is_dir_held(directory)


def test_a_second_run_of_the_same_work_gets_a_place_of_its_own(directory, alone):
    with (
        hold_dir(directory, otherwise=alone),
        hold_dir(directory, otherwise=alone, fresh=True) as second,
    ):
        assert second == alone
        assert is_dir_held(directory)


def test_one_holder_of_a_lock_waits_for_the_other(tmp_path):
    path = str(tmp_path / "file")
    with hold_lock(path):
        assert is_locked(path)
    assert not is_locked(path)


def test_a_run_is_alive_as_long_as_it_holds_its_lock(tmp_path):
    root = Root(str(tmp_path))
    with hold_run_lock(root) as first, hold_run_lock(root) as second:
        assert first != second
        assert is_locked(root.run_lock(first))
    assert list((tmp_path / ".stoker" / "runs").iterdir()) == []
