# SPDX-License-Identifier: Apache-2.0
"""ml-metadata reads what we wrote, we read what it wrote, and both go on with the same file."""

import contextlib
import json
import os
import random
import shutil
import sqlite3
import string
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import mlmd_env
import pytest
from database_servers import DatabaseServer
from small_pipeline import GENERATOR, TRAINER, begin, make_examples, train
from sqlalchemy import make_url

from stoker.artifacts import Artifact, Property, PropertyType, State
from stoker.errors import StoreError
from stoker.metadata import ExecutionState, StoreConfig, sqlite_metadata_connection_config
from stoker.metadata.moving import upgrade_file, widen
from stoker.metadata.store import Store

pytestmark = pytest.mark.envs

CONTEXTS = ["pipeline:penguin", "pipeline_run:run-1"]


def mlmd(command: str, config: StoreConfig, **variables: str) -> str:
    if mlmd_env.interpreter() is None:
        pytest.skip("ml-metadata needs Python 3.11, which is not on this machine")
    client = Path(__file__).with_name("mlmd_client.py")
    place = [config.path] if config.is_file else []
    # No path of ours, where the stand-in is.
    variables |= {"PATH": os.environ["PATH"], "MLMD_CONFIG": json.dumps(describe_server(config))}
    return subprocess.run(
        [mlmd_env.python(), str(client), command, *place],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=variables,
    ).stdout


def describe_server(config: StoreConfig) -> dict[str, Any]:
    """A ConnectionConfig of ml-metadata's."""
    url = make_url(config.url)
    said = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
    if config.kind == "postgresql":
        return {"postgresql": {**said, "port": str(url.port), "dbname": url.database}}
    return {"mysql": {**said, "database": url.database}}


def seen_by_mlmd(config: StoreConfig) -> dict[str, Any]:
    return dict(json.loads(mlmd("read", config)))


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "mysql"])
def seen(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    find_server: Callable[[str], DatabaseServer],
) -> dict[str, Any]:
    config = sqlite_metadata_connection_config(tmp_path_factory.mktemp("ours") / "metadata.db")
    if request.param != "sqlite":
        config = find_server(request.param).share_database()
    with Store(config) as store:
        store.begin_run("penguin", "run-1", properties={"lock": "/locks/run-1"})
        properties = {
            "module_file": "trainer.py",
            "train_args": {"num_steps": 100},
            "note": "hé 日本 🐧",
        }
        train(store, make_examples(store), properties=properties)
        failed, _ = begin(store)
        store.close_execution(failed, ExecutionState.FAILED, "it failed")
    return seen_by_mlmd(config)


def test_it_sees_types_with_properties_and_base_types(seen: dict[str, Any]) -> None:
    examples = seen["artifact_types"]["Examples"]
    assert examples["properties"] == {"span": "INT", "version": "INT", "split_names": "STRING"}
    assert examples["base_type"] == "DATASET"
    assert seen["artifact_types"]["Model"]["base_type"] == "MODEL"
    assert seen["execution_types"][TRAINER]["base_type"] == "TRAIN"
    assert seen["execution_types"][GENERATOR]["base_type"] == "PROCESS"


def test_it_sees_contexts_and_what_is_in_them(seen: dict[str, Any]) -> None:
    nodes = ["node:penguin.CsvExampleGen", "node:penguin.Trainer"]
    assert sorted(seen["contexts"]) == sorted([*CONTEXTS, *nodes])
    run = seen["contexts"]["pipeline_run:run-1"]
    assert run["custom_properties"] == {"lock": {"string_value": "/locks/run-1"}}
    assert seen["parents"]["run-1"] == ["pipeline:penguin"]
    assert seen["associations"] == {
        "1": [nodes[0], *CONTEXTS],
        "2": [nodes[1], *CONTEXTS],
        "3": [nodes[1], *CONTEXTS],
    }
    assert seen["attributions"]["1"] == [nodes[0], *CONTEXTS]
    assert seen["attributions"]["2"] == [nodes[1], *CONTEXTS]


def test_it_sees_artifacts_with_every_property(seen: dict[str, Any]) -> None:
    examples, model = seen["artifacts"]["1"], seen["artifacts"]["2"]
    assert examples["properties"] == {
        "span": {"int_value": "7"},
        "split_names": {"string_value": '["train", "eval"]'},
    }
    assert (model["type"], model["uri"], model["state"]) == (
        "Model",
        "/pipeline/Trainer/model/2",
        "LIVE",
    )
    assert model["custom_properties"] == {
        "name": {"string_value": "the model"},
        "accuracy": {"double_value": 0.97},
        "layers": {"struct_value": {"__value__": [8.0, 8.0]}},
        "best": {"bool_value": True},
        "steps": {"int_value": "100"},
    }


def test_it_sees_executions_and_how_they_ended(seen: dict[str, Any]) -> None:
    trained, failed = seen["executions"]["2"], seen["executions"]["3"]
    assert trained["last_known_state"] == "COMPLETE"
    assert trained["custom_properties"] == {
        "module_file": {"string_value": "trainer.py"},
        "train_args": {"struct_value": {"num_steps": 100.0}},
        "note": {"string_value": "hé 日本 🐧"},
    }
    assert failed["last_known_state"] == "FAILED"
    assert failed["custom_properties"] == {"__error__": {"string_value": "it failed"}}


def test_it_sees_events_with_paths(seen: dict[str, Any]) -> None:
    events = {
        (event["execution_id"], event["artifact_id"]): (event["type"], event["path"]["steps"])
        for event in seen["events"]
    }
    assert events == {
        ("1", "1"): ("OUTPUT", [{"key": "examples"}, {"index": "0"}]),
        ("2", "1"): ("INPUT", [{"key": "examples"}, {"index": "0"}]),
        ("2", "2"): ("OUTPUT", [{"key": "model"}, {"index": "0"}]),
        ("2", "3"): ("OUTPUT", [{"key": "model_run"}, {"index": "0"}]),
    }


def test_its_lineage_and_filters_work(seen: dict[str, Any]) -> None:
    assert seen["lineage"] == {
        "artifacts": [1, 2],
        "executions": [1, 2],
        "events": [[1, 1], [2, 1], [2, 2]],
    }
    assert seen["live_models"] == seen["accurate"] == seen["by_uri"] == [2]
    assert seen["of_run"] == [1, 2, 3]


def test_we_read_what_it_wrote(config: StoreConfig) -> None:
    mlmd("write", config)
    with Store(config) as store:
        [artifact] = store.artifacts(pipeline_name="taxi", node_id="maker", output_key="result")
        [execution] = store.executions()
        assert [run.run_id for run in store.runs("taxi")] == ["r"]
    assert (artifact.type_name, artifact.name, artifact.state) == (
        "Everything",
        "as TFX names it",
        State.LIVE,
    )
    assert artifact.properties == {
        "i": 2**60,
        "d": 0.1,
        "s": "hé 'quoted'",
        "j": {"a": [1, 2.5, None, True, "x", {"k": []}]},
        "p": {"@type": "type.googleapis.com/google.protobuf.Struct", "value": ""},
        "b": False,
    }
    assert artifact.custom_properties == {"list": [1, 2]}
    where = (execution.pipeline_name, execution.run_id, execution.node_id)
    assert where == ("taxi", "r", "maker")
    assert execution.state == ExecutionState.COMPLETE
    assert execution.properties == {"steps": 5, "note": "custom"}


def test_it_writes_on_top_of_ours_and_we_go_on(config: StoreConfig) -> None:
    with Store(config) as store:
        store.begin_run("penguin", "run-1", properties={})
        train(store, make_examples(store))
        mlmd("write", config)
        [everything] = store.artifacts(type_name="Everything")
        _, model = train(store, everything, run_id="run-2")
        assert [found.type_name for found in store.lineage(model.id).artifacts] == [
            "Everything",
            "Model",
        ]
    seen = seen_by_mlmd(config)
    assert seen["live_models"] == [2, model.id]
    assert sorted(seen["execution_types"]) == sorted([GENERATOR, TRAINER, "Maker"])


class Message(Artifact):
    TYPE_NAME = "Message"
    PROPERTIES: ClassVar = {"proto": Property(PropertyType.PROTO)}


def test_it_reads_a_message_and_an_artifact_that_was_given_twice(config: StoreConfig) -> None:
    with Store(config) as store:
        execution_id, outputs = begin(store, outputs={"message": Message})
        [message] = outputs["message"]
        kind = "type.googleapis.com/google.protobuf.Struct"
        message.properties["proto"] = {"@type": kind, "value": ""}
        store.publish(execution_id, outputs)
        begin(store, inputs={"first": [message], "again": [make_examples(store), message]})
    seen = seen_by_mlmd(config)
    assert seen["artifacts"]["1"]["properties"]["proto"]["proto_value"]["@type"] == kind
    [path] = [one["path"]["steps"] for one in seen["events"] if one["type"] == "INPUT"][:1]
    assert path == [{"key": "first"}, {"index": "0"}, {"key": "again"}, {"index": "1"}]


def test_we_go_on_with_tables_that_it_made_on_a_server(server_config: StoreConfig) -> None:
    mlmd("write", server_config, MLMD_INT=str(2**30))
    with Store(server_config) as store:
        [everything] = store.artifacts(type_name="Everything")
        assert everything.properties["i"] == 2**30
        assert everything.properties["s"] == "hé 'quoted'"
        assert everything.properties["p"] == {
            "@type": "type.googleapis.com/google.protobuf.Struct",
            "value": "",
        }
        _, model = train(store, everything, run_id="run-2")
        with pytest.raises(StoreError, match="to widen them: stoker store upgrade"):
            begin(store, properties={"big": 2**40})
        long = "".join(random.Random(1).choices(string.printable, k=9000))
        if server_config.kind == "postgresql":
            with pytest.raises(StoreError, match="to widen them: stoker store upgrade"):
                begin(store, properties={"long": long})
    assert seen_by_mlmd(server_config)["live_models"] == [model.id]
    assert widen(server_config)
    assert not widen(server_config)
    with Store(server_config) as store:
        said = {"big": 2**40, "long": long, "unicode": "日本 🐧"}
        execution_id, _ = begin(store, properties=said)
        assert store.execution(execution_id).properties == said
    assert seen_by_mlmd(server_config)["live_models"] == [model.id]


@pytest.mark.parametrize("version", [9, 8, 7, 6])
def test_an_old_file_reads_as_if_it_had_brought_it_up_to_date(
    tmp_path: Path, file_config: StoreConfig, version: int
) -> None:
    mlmd("write", file_config, MLMD_OLD="1")
    mlmd(f"downgrade:{version}", file_config)
    theirs = sqlite_metadata_connection_config(tmp_path / "theirs.db")
    shutil.copy(file_config.path, theirs.path)
    upgrade_file(file_config, lambda _: None)
    mlmd("upgrade", theirs)
    assert seen_by_mlmd(file_config) == seen_by_mlmd(theirs)
    described_both = described(file_config), described(theirs)
    assert described_both[0]["columns"] == described_both[1]["columns"]


def described(config: StoreConfig) -> dict[str, Any]:
    """The tables, columns and indexes of a database, and the rows that a new store has."""
    with contextlib.closing(sqlite3.connect(str(config.path))) as connection:
        ask = connection.execute
        tables = [name for (name,) in ask("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {
            # A primary key is never empty, whether or not it says so.
            table: [
                (row[1], row[3] or row[5], row[5]) for row in ask(f"PRAGMA table_info('{table}')")
            ]
            for table in tables
        }
        indexes = {
            table: sorted(
                (tuple(column[2] for column in ask(f"PRAGMA index_info('{row[1]}')")), *row[2:])
                for row in ask(f"PRAGMA index_list('{table}')")
            )
            for table in tables
        }
        named = sorted(
            ask("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        )
        seeds = ask("SELECT * FROM Type WHERE name LIKE 'mlmd.%'").fetchall()
        version = ask("SELECT * FROM MLMDEnv").fetchall()
    return {
        "columns": columns,
        "indexes": indexes,
        "named": named,
        "seeds": seeds,
        "version": version,
    }


def test_our_tables_are_its_tables(tmp_path: Path) -> None:
    ours, theirs = (sqlite_metadata_connection_config(tmp_path / name) for name in ("a", "b"))
    Store(ours).close()
    mlmd("write", theirs)
    for part, found in described(theirs).items():
        assert described(ours)[part] == found, part
