# SPDX-License-Identifier: Apache-2.0
"""What works on the shards of a step: this process, and copies of it."""

import os
import signal
import time

import pytest

from stoker.any_python.launcher_link import report, set_sink
from stoker.any_python.progress import advance, follow
from stoker.dsl import pool as pools
from stoker.dsl.executor import BaseExecutor
from stoker.dsl.pool import LocalPool
from stoker.errors import BadData, StepFailed


@pytest.fixture
def pool(monkeypatch):
    # Another test may have run an op in this process; the copies made here never touch TensorFlow.
    monkeypatch.setattr(pools, "may_fork", lambda: True)
    with LocalPool(3) as pool:
        yield pool


def square(number):
    time.sleep(0.01 if number % 3 else 0.03)
    return number, number**2, os.getpid()


def fail_elsewhere(shard):
    parent, error, *args = shard
    if os.getpid() == parent:
        time.sleep(0.2)
        return
    raise error(*args)


def die_elsewhere(parent):
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2)


def tell(count):
    advance(count)
    report({"kind": "warning", "text": f"{count} of them"})


class Untravelled(Exception):
    """As TensorFlow's errors: it can be pickled, and not unpickled."""

    def __init__(self, one, two):
        super().__init__(one)


def test_results_come_in_the_order_of_the_shards_from_all_processes(pool):
    numbers, squares, pids = zip(*pool.map(square, range(20)), strict=True)
    assert numbers == tuple(range(20))
    assert squares == tuple(number**2 for number in range(20))
    assert len(set(pids)) == 3
    assert os.getpid() in pids


def test_a_pool_answers_again(pool):
    assert [one[:2] for one in pool.map(square, [1])] == [one[:2] for one in pool.map(square, [1])]


def test_only_a_few_shards_are_begun_ahead(pool):
    begun = []
    results = pool.map(square, (begun.append(n) or n for n in range(1000)))
    next(results)
    assert len(begun) < 10
    results.close()


def test_what_copies_count_and_warn_of_is_told_here(pool, monkeypatch):
    monkeypatch.setattr("stoker.any_python.progress.REPORT_SECONDS", 0)
    told = []
    set_sink(told.append)
    try:
        with follow("counting", total=60):
            list(pool.map(tell, [10, 20, 30]))
    finally:
        set_sink(None)
    assert max(one.get("count") or 0 for one in told) == 60
    texts = [one["text"] for one in told if one["kind"] == "warning"]
    assert sorted(texts) == ["10 of them", "20 of them", "30 of them"]


def test_an_error_in_a_copy_is_raised_here_with_its_traceback(pool):
    shard = (os.getpid(), BadData, "a.gz is damaged")
    with pytest.raises(BadData, match=r"a\.gz is damaged") as raised:
        list(pool.map(fail_elsewhere, [shard] * 3))
    assert "in fail_elsewhere" in str(raised.value.__cause__)


def test_an_error_that_cannot_travel_keeps_its_text(pool):
    shard = (os.getpid(), Untravelled, "the first", "the second")
    with pytest.raises(StepFailed, match="the first"):
        list(pool.map(fail_elsewhere, [shard] * 3))


def test_the_death_of_a_copy_is_told(pool):
    with pytest.raises(StepFailed, match=r"died \(exit code -9\)"):
        list(pool.map(die_elsewhere, [os.getpid()] * 3))


def test_no_copy_outlives_the_pool(monkeypatch):
    monkeypatch.setattr(pools, "may_fork", lambda: True)
    with LocalPool(2) as pool:
        pids = {pid for _, _, pid in pool.map(square, range(9))}
    (copy,) = pids - {os.getpid()}
    with pytest.raises(ProcessLookupError):
        os.kill(copy, 0)


def test_one_process_needs_no_copy():
    assert {pid for _, _, pid in LocalPool().map(square, range(3))} == {os.getpid()}


def test_a_pool_without_processes_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        LocalPool(0)


@pytest.mark.parametrize(("num_shards", "is_asked"), [(1, False), (2, True)])
def test_a_cluster_is_asked_where_there_are_several_shards(num_shards, is_asked):
    context = BaseExecutor.Context()
    context.open_cluster = lambda: "the cluster"
    assert (context.open_pool(num_shards) == "the cluster") == is_asked


def test_no_more_processes_are_made_than_there_are_shards(monkeypatch):
    monkeypatch.setattr(pools, "may_fork", lambda: True)
    with BaseExecutor.Context().open_pool(2, num_processes=8) as pool:
        assert pool.size == 2
        assert pool.where == "on this machine, in 2 processes"
