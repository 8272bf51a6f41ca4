# SPDX-License-Identifier: Apache-2.0
"""ml-metadata reads what we wrote, we read what it wrote, and both go on with the same file."""

import contextlib
import json
import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import mlmd_env
import pytest
from small_pipeline import GENERATOR, TRAINER, begin, make_examples, train

from stoker.artifacts import State
from stoker.metadata import ExecutionState, StoreConfig, sqlite_metadata_connection_config
from stoker.metadata.store import Store

pytestmark = pytest.mark.envs

CONTEXTS = ["pipeline:penguin", "pipeline_run:run-1"]


def mlmd(command: str, config: StoreConfig) -> str:
    if mlmd_env.interpreter() is None:
        pytest.skip("ml-metadata needs Python 3.11, which is not on this machine")
    client = Path(__file__).with_name("mlmd_client.py")
    return subprocess.run(
        [mlmd_env.python(), str(client), command, str(config.path)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"]},  # no path of ours, where the stand-in is
    ).stdout


def seen_by_mlmd(config: StoreConfig) -> dict[str, Any]:
    return dict(json.loads(mlmd("read", config)))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    config = sqlite_metadata_connection_config(tmp_path_factory.mktemp("ours") / "metadata.db")
    with Store(config) as store:
        store.begin_run("penguin", "run-1", properties={"lock": "/locks/run-1"})
        properties = {"module_file": "trainer.py", "train_args": {"num_steps": 100}}
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
