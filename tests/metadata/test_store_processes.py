# SPDX-License-Identifier: Apache-2.0
"""Real processes on one store: nothing is lost, and nothing is left half done."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable

import pytest
import small_pipeline
from killed_child import kill_child
from small_pipeline import begin, make_examples
from sqlalchemy import create_engine, inspect, make_url, select, text
from sqlalchemy.pool import NullPool

from stoker.artifacts import Model, State
from stoker.metadata import ExecutionState, StoreConfig, schema, server
from stoker.metadata.config import STORE_VARIABLE
from stoker.metadata.store import Store

pytestmark = pytest.mark.slow

Act = Callable[[Store], object]


def start_writer(config: StoreConfig, name: str, runs: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, small_pipeline.__file__, name, str(runs)]
    return subprocess.Popen(command, env={**os.environ, STORE_VARIABLE: config.url})


def content(config: StoreConfig) -> dict[str, list[str]]:
    """Every row of every table; nothing, if there are no tables."""
    url = make_url(config.url) if config.is_file else server._locate(config)
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        made = {name.lower() for name in inspect(connection).get_table_names()}
        tables = [one for one in schema.list_tables() if one.name.lower() in made]
        return {
            one.name: sorted(map(str, connection.execute(text(f"SELECT * FROM {one.name}"))))
            for one in tables
        }


def killed(config: StoreConfig, act: Act, *, at: int) -> bool:
    """Whether a child that acts on a store was killed before its SQL statement number `at`."""

    def act_on_store() -> None:
        with Store(config) as store:
            act(store)

    return kill_child(act_on_store, at=at)


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
def test_a_process_killed_in_the_middle_leaves_no_half_state(
    file_config: StoreConfig, act: Act
) -> None:
    kill_in_the_middle(file_config, act)


@pytest.mark.envs
@pytest.mark.parametrize("act", [begin_one, publish_one, close_one])
def test_a_process_killed_in_the_middle_leaves_no_half_state_on_a_server(
    server_config: StoreConfig, act: Act
) -> None:
    kill_in_the_middle(server_config, act)


def kill_in_the_middle(config: StoreConfig, act: Act) -> None:
    with Store(config) as store:
        make_examples(store)
        begin(store, outputs={"model": Model})
    assert kill_everywhere(config, act) > 5


def test_a_process_killed_while_it_makes_the_store_leaves_nothing(file_config: StoreConfig) -> None:
    assert kill_everywhere(file_config, Store.close) > 15


def test_a_store_that_a_killed_process_has_begun_to_make_is_finished(
    server_config: StoreConfig,
) -> None:
    for at in (8, 25, 60, 90):
        killed(server_config, Store.close, at=at)
    with Store(server_config) as store:
        small_pipeline.run(store, "run-1")
    made = content(server_config)
    assert len(made) == 15
    names = [row.split(", ")[1] for row in made["Type"]]
    assert len(names) == len(set(names)) > len(schema.BASE_TYPES)


@pytest.mark.parametrize(("processes", "runs_each"), [(2, 20), (50, 2)])
def test_processes_write_at_once_and_nothing_is_lost(
    file_config: StoreConfig, processes: int, runs_each: int
) -> None:
    write_at_once(file_config, processes, runs_each)


@pytest.mark.parametrize(
    ("processes", "runs_each"), [(4, 5), pytest.param(50, 2, marks=pytest.mark.envs)]
)
def test_processes_write_to_a_server_at_once_and_nothing_is_lost(
    server_config: StoreConfig, processes: int, runs_each: int
) -> None:
    write_at_once(server_config, processes, runs_each)


def write_at_once(config: StoreConfig, processes: int, runs_each: int) -> None:
    writers = [start_writer(config, f"writer-{n}", runs_each) for n in range(processes)]
    assert [writer.wait(timeout=300) for writer in writers] == [0] * processes
    runs = processes * runs_each
    with Store(config) as store:
        assert len(store.runs("penguin")) == runs
        executions = store.executions(pipeline_name="penguin")
        assert [one.state for one in executions] == [ExecutionState.COMPLETE] * runs * 2
        assert len(store.artifacts()) == runs * 3
        types = select(schema.type_.c.name, schema.type_.c.type_kind)
        found = store.ask(lambda connection: connection.execute(types).all())
        assert len(found) == len(set(found))


def test_a_writer_waits_for_another_program_that_holds_the_lock(file_config: StoreConfig) -> None:
    config = file_config
    Store(config).close()
    with contextlib.closing(sqlite3.connect(config.path)) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        writer = start_writer(config, "patient", 1)
        with pytest.raises(subprocess.TimeoutExpired):
            writer.wait(timeout=1.5)
        connection.execute("COMMIT")
    assert writer.wait(timeout=30) == 0
