# SPDX-License-Identifier: Apache-2.0
"""Stores move to other databases and to the schema version of today, with all that is in them."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from database_servers import QUOTED, DatabaseServer, one_soon
from killed_child import kill_child
from small_pipeline import begin, make_examples, run

from stoker.artifacts import Artifact, Model, State
from stoker.errors import StoreError
from stoker.metadata import ExecutionState, StoreConfig, schema, sqlite_metadata_connection_config
from stoker.metadata.moving import migrate, upgrade_file
from stoker.metadata.store import Store

STOKER = [sys.executable, "-m", "stoker"]
NEW_IN = {7: ("byte_value",), 9: ("external_id",), 10: ("proto_value", "bool_value")}
"""Which columns came with which version."""


@pytest.fixture
def filled(file_config: StoreConfig) -> StoreConfig:
    """A store with all kinds of rows, and ids that do not begin at one."""
    with Store(file_config) as store:
        run(store, "run-1")
        examples, other = make_examples(store), make_examples(store)
        begin(store, at_least=40)
        inputs = {"examples": [other, examples], "baseline": [examples]}
        properties = {
            "with a zero": "a\0b",
            "long": "x" * 5000,
            "many": 2**40,
            "é": "日本",
            "b": True,
        }
        failed, _ = begin(store, run_id="run-1", inputs=inputs, properties=properties)
        store.close_execution(failed, ExecutionState.FAILED, "it failed")
    return file_config


def describe(config: StoreConfig) -> dict[str, object]:
    """All that can be asked of a store."""
    with Store(config) as store:
        executions, artifacts = store.executions(), store.artifacts(states=tuple(State))
        return {
            "runs": store.runs(),
            "executions": executions,
            "artifacts": [one.to_dict() for one in artifacts],
            "inputs": [list_ids(store.inputs(one.id)) for one in executions],
            "events": [store.events(one.id) for one in executions],
            "lineage": len(store.lineage(2).executions),
        }


def list_ids(given: dict[str, list[Artifact]]) -> dict[str, list[int]]:
    return {key: [one.id for one in found] for key, found in given.items()}


def test_a_store_moves_with_its_ids(
    filled: StoreConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moves(filled, sqlite_metadata_connection_config(tmp_path / "new.db"))


@pytest.mark.slow
def test_a_store_moves_to_a_server_with_its_ids(
    filled: StoreConfig, server_config: StoreConfig
) -> None:
    moves(filled, server_config)


def moves(old: StoreConfig, new: StoreConfig) -> None:
    before, told = describe(old), list[str]()
    copied = migrate(old, new, told.append)
    assert describe(old) == describe(new) == before
    assert copied["Execution"] == 6
    assert f"Event: {copied['Event']}" in told
    with Store(new) as store:
        last = store.executions()[-1].id
        assert begin(store, outputs={"model": Model})[0] == last + 1  # ids go on
    with pytest.raises(StoreError, match=r"is in use: it has \d+ rows in Execution"):
        migrate(old, new, told.append)


@one_soon
@pytest.mark.slow
def test_a_killed_move_leaves_an_empty_database(
    filled: StoreConfig, server_config: StoreConfig
) -> None:
    Store(server_config).close()
    for at in (5, 12, 20):
        assert kill_child(lambda: migrate(filled, server_config, lambda _: None), at=at)
        with Store(server_config) as store:
            assert store.runs() == []
    moves(filled, server_config)


def make_old(config: StoreConfig, version: int) -> None:
    """Take from a store what came after a version."""
    gone = {name for since, names in NEW_IN.items() if since > version for name in names}
    with sqlite3.connect(config.path) as connection:
        for table in schema.list_tables():
            columns = ", ".join(one.name for one in table.c if one.name not in gone)
            connection.execute(f"CREATE TABLE old AS SELECT {columns} FROM {table.name}")
            connection.execute(f"DROP TABLE {table.name}")
            connection.execute(f"ALTER TABLE old RENAME TO {table.name}")
        connection.execute(f"UPDATE MLMDEnv SET schema_version = {version}")
    connection.close()


@pytest.mark.parametrize("version", [6, 7, 8, 9])
def test_a_file_of_an_older_version_is_brought_up_to_date(
    filled: StoreConfig, version: int
) -> None:
    with Store(filled) as store:
        execution_id = store.executions()[-1].id
    before = describe(filled)
    make_old(filled, version)
    with pytest.raises(StoreError, match=rf"schema version {version}.*stoker store upgrade"):
        Store(filled)
    backup = upgrade_file(filled, lambda _: None)
    assert backup == f"{filled.path}.schema-{version}"
    with sqlite3.connect(backup) as connection:
        assert connection.execute("SELECT * FROM MLMDEnv").fetchall() == [(version,)]
    connection.close()
    after = describe(filled)
    assert after["inputs"] == before["inputs"]
    assert after["events"] == before["events"]
    assert len(after["executions"]) == len(before["executions"])  # type: ignore[arg-type]
    with Store(filled) as store:
        properties = store.execution(execution_id).properties
        assert properties["many"] == 2**40
        assert begin(store)[0] == execution_id + 1
    assert upgrade_file(filled, lambda _: None) == ""


def test_what_cannot_be_brought_up_to_date_says_why(filled: StoreConfig) -> None:
    make_old(filled, 7)
    with sqlite3.connect(filled.path) as connection:
        connection.execute("INSERT INTO Event SELECT * FROM Event WHERE id = 3")
    connection.close()
    before = Path(filled.path).read_bytes()
    with pytest.raises(StoreError, match=r"between artifact \d+ and execution \d+ twice"):
        upgrade_file(filled, lambda _: None)
    assert Path(filled.path).read_bytes() == before
    make_old(filled, 5)
    with pytest.raises(StoreError, match=r"schema version 5; Stoker brings 6 to 9 .*ml-metadata"):
        upgrade_file(filled, lambda _: None)


@one_soon
@pytest.mark.slow
def test_the_command_moves_a_store_and_hides_the_password(
    filled: StoreConfig, server: DatabaseServer, server_config: StoreConfig
) -> None:
    command = [*STOKER, "store", "migrate", filled.path, server_config.url]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    assert f"export STOKER_STORE={server_config.place}" in done.stdout
    assert QUOTED not in done.stdout
    command = [*STOKER, "store", "upgrade", server_config.url]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 2
    assert "add --backed-up: " in done.stdout
    done = subprocess.run(
        [*command, "--backed-up"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "is up to date already" in done.stdout
