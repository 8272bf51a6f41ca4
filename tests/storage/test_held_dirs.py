# SPDX-License-Identifier: Apache-2.0
"""Directories that outlive a run that was stopped, with what was in them or without."""

import pytest

from stoker.storage.held_dirs import hold, is_held


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "work")


def leave(directory, tmp_path):
    """What a run that was stopped leaves."""

    def work():
        with hold(directory, otherwise=str(tmp_path / "alone")) as held:
            (tmp_path / "work" / "part").mkdir()
            (tmp_path / "work" / "state").write_text("half")
            assert held == directory
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()


def test_a_stopped_run_leaves_it_for_the_next(directory, tmp_path):
    leave(directory, tmp_path)
    with hold(directory, otherwise="") as held:
        assert (tmp_path / "work" / "state").read_text() == "half"
        assert held == directory
    assert not (tmp_path / "work").exists()


def test_a_fresh_start_removes_what_was_left(directory, tmp_path):
    leave(directory, tmp_path)
    with hold(directory, otherwise="", fresh=True):
        assert [path.name for path in (tmp_path / "work").iterdir()] == ["lock"]


def test_it_is_held_while_work_goes_on(directory):
    assert not is_held(directory)
    with hold(directory, otherwise=""):
        assert is_held(directory)
    assert not is_held(directory)


def test_a_second_run_of_the_same_work_gets_a_place_of_its_own(directory):
    with hold(directory, otherwise=""), hold(directory, otherwise="alone", fresh=True) as second:
        assert second == "alone"
        assert is_held(directory)
