# SPDX-License-Identifier: Apache-2.0
"""Real processes on one store: nothing is lost, and nothing is left half done."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
import small_pipeline
from small_pipeline import begin, make_examples
from sqlalchemy import Engine
from sqlalchemy import event as sql_event

from stoker.artifacts import Model, State
from stoker.metadata import ExecutionState, StoreConfig
from stoker.metadata.store import Store

pytestmark = pytest.mark.slow

Act = Callable[[Store], object]


def start_writer(config: StoreConfig, name: str, runs: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, small_pipeline.__file__, str(config.path), name, str(runs)]
    return subprocess.Popen(command)


@contextlib.contextmanager
def connected(config: StoreConfig) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(str(config.path))) as connection:
        yield connection


def content(config: StoreConfig) -> str:
    with connected(config) as connection:
        return "\n".join(connection.iterdump())


def killed(config: StoreConfig, act: Act, *, at: int) -> bool:
    """Let a child act, and kill it before its SQL statement number `at`; False if it ended."""
    child = os.fork()
    if child == 0:
        seen = iter(range(1, at))

        def count(*_: object) -> None:
            if next(seen, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            sql_event.listen(Engine, "before_cursor_execute", count)
            with Store(config) as store:
                act(store)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL)
    return status == signal.SIGKILL


def kill_everywhere(config: StoreConfig, act: Act) -> int:
    """Kill children that act, one at each statement; return how many it took to come to the end."""
    before, at = content(config), 1
    while killed(config, act, at=at):
        assert content(config) == before
        at += 1
    assert content(config) != before
    return at


def begin_one(store: Store) -> None:
    begin(store, run_id="run-2", inputs={"examples": [store.artifact(1)]}, outputs={"model": Model})


def publish_one(store: Store) -> None:
    [model] = store.artifacts(states=(State.PENDING,))
    model.custom_properties = {"accuracy": 0.9}
    store.publish(2, {"model": [model]})


def close_one(store: Store) -> None:
    store.close_execution(2, ExecutionState.FAILED, "it failed")


@pytest.mark.parametrize("act", [begin_one, publish_one, close_one])
def test_a_process_killed_in_the_middle_leaves_no_half_state(config: StoreConfig, act: Act) -> None:
    with Store(config) as store:
        make_examples(store)
        begin(store, outputs={"model": Model})
    assert kill_everywhere(config, act) > 5


def test_a_process_killed_while_it_makes_the_store_leaves_nothing(config: StoreConfig) -> None:
    assert kill_everywhere(config, Store.close) > 15


@pytest.mark.parametrize(("processes", "runs_each"), [(2, 20), (50, 2)])
def test_processes_write_at_once_and_nothing_is_lost(
    config: StoreConfig, processes: int, runs_each: int
) -> None:
    writers = [start_writer(config, f"writer-{n}", runs_each) for n in range(processes)]
    assert [writer.wait(timeout=300) for writer in writers] == [0] * processes
    runs = processes * runs_each
    with Store(config) as store:
        assert len(store.runs("penguin")) == runs
        executions = store.executions(pipeline_name="penguin")
        assert [one.state for one in executions] == [ExecutionState.COMPLETE] * runs * 2
        assert len(store.artifacts()) == runs * 3
    with connected(config) as connection:
        doubled = connection.execute(
            "SELECT name FROM Type GROUP BY name, type_kind HAVING count(*) > 1"
        ).fetchall()
        assert doubled == []


def test_a_writer_waits_for_another_program_that_holds_the_lock(config: StoreConfig) -> None:
    Store(config).close()
    with connected(config) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        writer = start_writer(config, "patient", 1)
        with pytest.raises(subprocess.TimeoutExpired):
            writer.wait(timeout=1.5)
        connection.execute("COMMIT")
    assert writer.wait(timeout=30) == 0
