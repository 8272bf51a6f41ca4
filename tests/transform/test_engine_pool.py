# SPDX-License-Identifier: Apache-2.0
"""The processes that share a pass over the data."""

import os
import signal

import pytest

from stoker.errors import BadData, StepFailed
from stoker.transform import pool as pools
from stoker.transform.pool import Pool


@pytest.fixture
def pool(monkeypatch):
    # Another test may have run an op in this process; the copies made here never touch TensorFlow.
    monkeypatch.setattr(pools, "may_fork", lambda: True)
    with Pool(3) as pool:
        yield pool


def share_of(share, num_shares, words):
    return os.getpid(), words[share::num_shares]


def fail_in_a_copy(share, num_shares, error, *args):
    if share:
        raise error(*args)
    return num_shares


def die_in_a_copy(share, num_shares):
    if share == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return num_shares


class Untravelled(Exception):
    """As TensorFlow's errors: it can be pickled, and not unpickled."""

    def __init__(self, one, two):
        super().__init__(one)


def test_each_process_takes_its_share(pool):
    pids, shares = zip(*pool.run(share_of, "abcdefg"), strict=True)
    assert shares == ("adg", "be", "cf")
    assert pids[0] == os.getpid()
    assert len(set(pids)) == 3


def test_a_pool_answers_again(pool):
    assert pool.run(share_of, "abc") == pool.run(share_of, "abc")


def test_an_error_in_a_copy_is_raised_here_with_its_traceback(pool):
    with pytest.raises(BadData, match=r"a\.gz is damaged") as raised:
        pool.run(fail_in_a_copy, BadData, "a.gz is damaged")
    assert "in fail_in_a_copy" in str(raised.value.__cause__)


def test_an_error_that_cannot_travel_keeps_its_text(pool):
    with pytest.raises(StepFailed, match="the first"):
        pool.run(fail_in_a_copy, Untravelled, "the first", "the second")


def test_the_death_of_a_copy_is_told(pool):
    with pytest.raises(StepFailed, match=r"died \(exit code -9\)"):
        pool.run(die_in_a_copy)


def test_no_copy_outlives_the_pool(monkeypatch):
    monkeypatch.setattr(pools, "may_fork", lambda: True)
    with Pool(2) as pool:
        _, (copy, _) = pool.run(share_of, "ab")
    with pytest.raises(ProcessLookupError):
        os.kill(copy, 0)


def test_one_process_needs_no_copy():
    assert Pool(1).run(share_of, "abc") == [(os.getpid(), "abc")]


def test_a_pool_without_processes_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        Pool(0)
