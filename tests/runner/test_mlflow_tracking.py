# SPDX-License-Identifier: Apache-2.0
"""A real MLflow server is told of runs; one that is down, silent or refuses costs a warning."""

import contextlib
import http.server
import json
import os
import socket
import subprocess
import textwrap
import threading
import time
from pathlib import Path

import mlflow_envs
import pytest

pytestmark = [pytest.mark.envs, pytest.mark.slow, pytest.mark.tf]

HERE = Path(__file__).parent
MODULE = """
import keras
import tensorflow as tf
{imports}

def run_fn(fn_args):
    {begin}
    model = keras.Sequential([keras.layers.Input((2,), name="x"), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices(([[1.0, 2.0]] * 8, [[2.0]] * 8)).repeat().batch(4)
    model.fit(data, steps_per_epoch=5, epochs=3)
    model.export(fn_args.serving_model_dir)
"""
PIPELINE = """
import sys
from tfx import v1 as tfx

folder = sys.argv[1]
examples = tfx.components.CsvExampleGen(input_base=folder + "/data")
trainer = tfx.components.Trainer(
    module_file=folder + "/module.py", examples=examples.outputs["examples"],
    train_args=tfx.proto.TrainArgs(num_steps=5), eval_args=tfx.proto.EvalArgs(num_steps=1))
pipeline = tfx.dsl.Pipeline("trained", folder + "/root", components=[examples, trainer])
tfx.orchestration.LocalDagRunner().run(pipeline)
"""
ASK = """
import json, sys
from mlflow import MlflowClient

client = MlflowClient()
found = []
for experiment in client.search_experiments():
    for run in client.search_runs([experiment.experiment_id], order_by=["attributes.start_time"]):
        histories = {
            key: [[one.step, one.value] for one in client.get_metric_history(run.info.run_id, key)]
            for key in run.data.metrics
        }
        models = [one.model_id for one in run.outputs.model_outputs] if run.outputs else []
        found.append({
            "id": run.info.run_id, "name": run.info.run_name, "experiment": experiment.name,
            "status": run.info.status, "params": run.data.params, "tags": run.data.tags,
            "metrics": histories, "models": models,
        })
print(json.dumps(found))
"""
CALL = """
import json, sys
import mlflow
import numpy as np

model = mlflow.pyfunc.load_model(sys.argv[1])
answer = model.predict({"x": np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)})
inputs, outputs = model.metadata.signature.inputs, model.metadata.signature.outputs
told = [[one.name, str(one.type), list(one.shape)] for one in [*inputs.inputs, *outputs.inputs]]
print(json.dumps({"rows": len(answer["output_0"]), "signature": told}))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with mlflow_envs.serve(tmp_path_factory.mktemp("mlflow")) as address:
        yield address


def start(address, *arguments):
    """A program of the environment that has MLflow's client."""
    environ = {name: text for name, text in os.environ.items() if "KERAS" not in name}
    return subprocess.Popen(
        [mlflow_envs.client_python(), *map(str, arguments)],
        env={**environ, "MLFLOW_TRACKING_URI": address, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(address, *arguments):
    """What such a program printed: both streams."""
    with start(address, *arguments) as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    return out, err


def ask(address, experiment):
    """The runs of an experiment as the server tells them, oldest first."""
    found = json.loads(run(address, "-c", ASK)[0])
    return [one for one in found if one["experiment"] == experiment]


def track(address, root, loss=0.5, *gate):
    return run(address, HERE / "tracked_pipeline.py", root, loss, *gate)[1]


def test_a_run_has_its_parameters_its_metrics_by_step_and_its_evaluation(server, tmp_path):
    err = track(server, tmp_path)
    found = ask(server, "tracked")[-1]
    assert found["name"] == found["tags"]["stoker.run_id"]
    assert f"MLflow: {server}/#/experiments/" in err
    assert err.count("MLflow") == 1
    assert found["status"] == "FINISHED"
    assert found["params"] == {
        "fit.loss": "0.5",
        "fit.config.api_key": "***",
        "fit.config.layers": "3",
        "fit.gate": "",
    }
    assert found["metrics"] == {
        "fit/train/loss": [[0, 3.5], [1, 2.5], [2, 1.5]],
        "fit/validation/loss": [[3, 0.5]],
        "fit/validation/odd_name": [[3, 1.0]],
        "judge/auc": [[0, 0.75]],
        "judge/color_red/auc": [[0, 0.125]],
    }
    assert found["tags"]["stoker.code.fit"].startswith("source of fit ")


def test_a_cached_step_is_not_logged_again_and_links_to_the_run_that_was(server, tmp_path):
    track(server, tmp_path)
    track(server, tmp_path)
    first, second = ask(server, "tracked")[-2:]
    assert second["metrics"] == second["params"] == {}
    assert second["status"] == "FINISHED"
    assert second["tags"]["stoker.cached.fit"] == first["id"]
    assert second["tags"]["stoker.cached.judge"] == first["id"]


def test_steps_that_are_started_one_by_one_are_one_run_there(server, tmp_path):
    file, own = HERE / "tracked_pipeline.py", ("--", tmp_path, 0.25)
    plan = json.loads(run(server, "-m", "stoker", "plan", file, "--json", *own)[0])
    for step in plan["steps"]:
        run(server, "-m", "stoker", "step", file, step["id"], "--run-id", "joined", *own)
    (found,) = [one for one in ask(server, "tracked") if one["name"] == "joined"]
    assert found["status"] == "FINISHED"
    assert found["params"]["fit.loss"] == "0.25"


@contextlib.contextmanager
def train_until_told(server, folder, loss):
    """A training that waits at its end until this is left, and its run there, with metrics."""
    gate = folder / "gate"
    with start(server, HERE / "tracked_pipeline.py", folder / "root", loss, gate) as training:
        try:
            yield training, wait_until(lambda: find_running(server))
        finally:
            gate.touch()
            training.communicate()


def find_running(server):
    """The run that is not over, once it has metrics; those of other tests are."""
    found = (one for one in ask(server, "tracked") if one["status"] == "RUNNING")
    return next((one for one in found if one["metrics"]), None)


def test_metrics_are_there_while_a_training_runs(server, tmp_path):
    with train_until_told(server, tmp_path, 0.25) as (_, found):
        assert found["metrics"] == {"fit/train/loss": [[0, 3.25], [1, 2.25], [2, 1.25]]}
    assert len(ask(server, "tracked")[-1]["metrics"]["fit/train/loss"]) == 3


def test_a_run_that_is_killed_is_killed_there_too(server, tmp_path):
    with train_until_told(server, tmp_path, 0.125) as (training, found):
        training.kill()

    def find_status():
        return next(one["status"] for one in ask(server, "tracked") if one["id"] == found["id"])

    assert wait_until(lambda: find_status() == "KILLED")


def wait_until(happened):
    for _ in range(60):
        if found := happened():
            return found
        time.sleep(0.5)
    raise AssertionError("It did not happen within a minute.")


def train(server, folder, **words):
    (folder / "data").mkdir()
    (folder / "data" / "rows.csv").write_text("a\n" + "1\n" * 20)
    module = MODULE.format(**{"imports": "", "begin": "pass", **words})
    (folder / "module.py").write_text(module)
    (folder / "pipeline.py").write_text(textwrap.dedent(PIPELINE))
    return run(server, folder / "pipeline.py", folder)[1]


def test_a_published_model_is_logged_with_its_signature_and_can_be_called(server, tmp_path):
    train(server, tmp_path)
    found = ask(server, "trained")[-1]
    assert len(found["metrics"]["Trainer/train_epochs/loss"]) == 3
    assert found["params"]["Trainer.train_args.num_steps"] == "5"
    (model,) = found["models"]
    answer = json.loads(run(server, "-c", CALL, f"models:/{model}")[0])
    assert answer["rows"] == 2
    assert answer["signature"] == [["x", "float32", [-1, 2]], ["output_0", "float32", [-1, 1]]]


def test_what_autolog_logs_is_not_logged_twice(server, tmp_path):
    words = {"imports": "import mlflow", "begin": "mlflow.tensorflow.autolog()"}
    train(server, tmp_path, **words)
    found = ask(server, "trained")[-1]
    assert found["metrics"] == {}
    assert found["models"] == []
    assert found["tags"]["stoker.logged_by_module.Trainer"] == "metrics, model"
    assert found["params"]["Trainer.train_args.num_steps"] == "5"
    theirs = ask(server, "Default")[-1]
    assert "loss" in theirs["metrics"]


@contextlib.contextmanager
def listen_in_silence():
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@contextlib.contextmanager
def refuse():
    """A server that refuses whatever it is asked."""

    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_error(403)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://user:abracadabra@127.0.0.1:{server.server_port}"
        server.shutdown()


@contextlib.contextmanager
def listen_nowhere():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("server_like", [listen_nowhere, listen_in_silence, refuse])
def test_a_server_that_does_not_serve_costs_one_warning_and_no_run(tmp_path, server_like):
    with server_like() as address:
        started = time.monotonic()
        err = track(address, tmp_path)
        took = time.monotonic() - started
    warnings = [line for line in err.splitlines() if "MLflow" in line]
    assert len(warnings) == 1, err
    assert warnings[0].startswith("warning: MLflow ")
    assert "abracadabra" not in err
    assert "is done. Its outputs:" in err
    assert took < 60


def test_a_server_that_goes_away_costs_one_warning_and_no_run(tmp_path):
    gate = tmp_path / "gate"
    (tmp_path / "server").mkdir()
    with mlflow_envs.serve(tmp_path / "server") as address:
        training = start(address, HERE / "tracked_pipeline.py", tmp_path / "root", 0.5, gate)
        wait_until(lambda: [one for one in ask(address, "tracked") if one["metrics"]])
    # The server has ended with its context; the training goes on.
    gate.touch()
    _, err = training.communicate()
    assert training.returncode == 0
    assert err.count("warning: MLflow") == 1
