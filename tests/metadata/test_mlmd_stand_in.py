# SPDX-License-Identifier: Apache-2.0
"""ml_metadata over our store gives what ml-metadata gives: one body of uses, two backends."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import mlmd_uses
import pytest
from database_servers import DatabaseServer
from small_pipeline import make_examples, train

from stoker.metadata import StoreConfig, sqlite_metadata_connection_config
from stoker.metadata.store import Store

HERE = Path(__file__).parent
ANSWERS: dict[str, dict[str, Any]] = json.loads((HERE / "mlmd_answers.json").read_text())
"""What ml-metadata 1.17.1 printed."""
CASES = [(use, name) for use, answers in ANSWERS.items() for name in answers]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return dict(json.loads(json.dumps(mlmd_uses.main(str(tmp_path_factory.mktemp("store"))))))


@pytest.mark.parametrize(("use", "name"), CASES)
def test_a_use_gives_what_ml_metadata_gives(answers, use, name):
    assert answers[use][name] == ANSWERS[use][name]


@pytest.mark.slow
def test_all_uses_give_the_same_on_a_server(
    server: DatabaseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, refuse = server.share_database(), mlmd_uses.refuse

    def refuse_and_count_on(*given: Any) -> Any:
        answers = refuse(*given)
        server.count_on(config)  # on servers, what is refused has taken an id
        return answers

    monkeypatch.setattr(mlmd_uses, "refuse", refuse_and_count_on)
    found = mlmd_uses.main(str(tmp_path), config)
    for use, answers in json.loads(json.dumps(found)).items():
        assert answers == ANSWERS[use], use


@pytest.mark.envs
def test_the_recorded_answers_are_ml_metadatas(tmp_path):
    import mlmd_env

    command = [mlmd_env.python(), str(HERE / "mlmd_uses.py"), str(tmp_path)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={}).stdout
    assert json.loads(printed) == ANSWERS


def test_what_a_pipeline_recorded_is_read(config: StoreConfig):
    import ml_metadata as mlmd

    with Store(config) as ours:
        ours.begin_run("penguin", "run-1", properties={})
        train(ours, make_examples(ours))
    store = mlmd.MetadataStore(config)
    [model] = store.get_artifacts_by_type("Model")
    assert (model.uri, model.state) == ("/pipeline/Trainer/model/2", model.LIVE)
    assert model.custom_properties["accuracy"].double_value == 0.97
    node = store.get_context_by_type_and_name("node", "penguin.Trainer")
    [execution] = store.get_executions_by_context(node.id)
    events = store.get_events_by_execution_ids([execution.id])
    assert [event.path.steps[0].key for event in events] == ["examples", "model", "model_run"]


@pytest.mark.slow
def test_what_is_written_is_read_by_the_pipeline(tmp_path):
    config = sqlite_metadata_connection_config(tmp_path / "metadata.db")
    client = HERE / "mlmd_client.py"
    subprocess.run([sys.executable, str(client), "write", str(config.path)], check=True)
    with Store(config) as store:
        [artifact] = store.artifacts(pipeline_name="taxi", node_id="maker", output_key="result")
    assert artifact.properties["j"] == {"a": [1, 2.5, None, True, "x", {"k": []}]}


def test_a_message_is_there_without_the_database():
    command = (
        "import sys; from ml_metadata.proto import metadata_store_pb2;"
        "print('sqlalchemy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", command], stdout=subprocess.PIPE, text=True)
    assert run.stdout == "False\n"
