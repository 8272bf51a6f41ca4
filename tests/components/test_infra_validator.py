# SPDX-License-Identifier: Apache-2.0
"""InfraValidator, through the runner and a real worker."""

import os
import stat
import sys
import textwrap
from pathlib import Path

import pytest
from served_models import examples_channel, model_channel

from stoker.artifacts import Model
from stoker.components.infra_validator import InfraValidator
from stoker.components.pusher import Pusher
from stoker.data.tfrecord import read_records
from stoker.dsl import Channel, Pipeline
from stoker.errors import StepFailed
from stoker.runner import LocalDagRunner

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return model_channel(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    return examples_channel(tmp_path_factory.mktemp("examples"), eval=[1.0, 2.0, 3.0])


def validate(tmp_path, validator, *more):
    pipeline = Pipeline("infra", str(tmp_path / "root"), components=[validator, *more])
    (blessing,) = LocalDagRunner().run(pipeline).outputs[validator.id]["blessing"]
    return blessing


def test_a_model_that_loads_and_answers_is_blessed_and_can_be_pushed_warm(
    tmp_path, model, examples
):
    from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

    validator = InfraValidator(
        model=model,
        examples=examples,
        serving_spec={
            "tensorflow_serving": {"tags": ["latest"]},
            "local_docker": {"client_timeout_seconds": 30, "host_ip_address": "127.0.0.1"},
        },
        request_spec={
            "tensorflow_serving": {"signature_names": ["serving_default", "plain"]},
            "num_examples": 2,
            "make_warmup": True,
        },
    )
    pusher = Pusher(
        infra_blessing=validator.outputs["blessing"],
        push_destination={"filesystem": {"base_directory": str(tmp_path / "served")}},
    )

    blessing = validate(tmp_path, validator, pusher)

    assert blessing.get_int_custom_property("blessed") == 1
    assert Path(blessing.uri, "INFRA_BLESSED").exists()
    (pushed,) = [path for path in (tmp_path / "served").iterdir() if path.name.isdecimal()]
    warmup = pushed / "assets.extra" / "tf_serving_warmup_requests"
    requests = [PredictionLog.FromString(record) for record in read_records(str(warmup))]
    assert [one.predict_log.request.model_spec.signature_name for one in requests] == [
        "serving_default",
        "serving_default",
        "plain",
        "plain",
    ]


def test_a_model_that_does_not_load_or_answer_is_not_blessed(tmp_path, model, examples, capfd):
    (good,) = model.get()
    broken = Model()
    broken.uri = str(tmp_path / "broken")
    folder = Path(broken.uri, "Format-Serving")
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(
        Path(good.uri, "Format-Serving", "saved_model.pb").read_bytes()
    )
    no_variables = InfraValidator(
        model=Channel(Model, artifacts=[broken]), validation_spec={"num_tries": 2}
    )

    blessing = validate(tmp_path, no_variables)

    said = "".join(capfd.readouterr())
    assert blessing.get_int_custom_property("blessed") == 0
    assert Path(blessing.uri, "INFRA_NOT_BLESSED").exists()
    assert "could not serve the model, try 2 of 2" in said


def test_a_model_that_takes_too_long_to_load_is_not_blessed(tmp_path, model, capfd, monkeypatch):
    monkeypatch.setenv("PATH", f"{_slow_server(tmp_path)}{os.pathsep}{os.environ['PATH']}")
    slow = InfraValidator(
        model=model, validation_spec={"max_loading_time_seconds": 1, "num_tries": 1}
    )

    blessing = validate(tmp_path, slow)

    assert blessing.get_int_custom_property("blessed") == 0
    assert "did not load the model within 1 seconds" in "".join(capfd.readouterr())


def _slow_server(tmp_path):
    """A folder with a model server in it that never listens."""
    folder = tmp_path / "bin"
    folder.mkdir()
    _write_program(folder / "tensorflow_model_server", "import time\ntime.sleep(600)\n")
    return folder


def _write_program(path, source):
    path.write_text(f"#!{sys.executable}\n{textwrap.dedent(source)}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


_SERVER = """
import argparse
from concurrent import futures

import grpc
import tensorflow as tf
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

parser = argparse.ArgumentParser()
for name in ("port", "grpc_socket_path", "model_name", "model_base_path"):
    parser.add_argument(f"--{name}")
flags = parser.parse_args()
assert flags.port == "0", "it would listen to the network"
signatures = tf.saved_model.load(f"{flags.model_base_path}/1").signatures


class Models(model_service_pb2_grpc.ModelServiceServicer):
    def GetModelStatus(self, request, context):
        answer = get_model_status_pb2.GetModelStatusResponse()
        answer.model_version_status.add(version=1, state=30)
        return answer


class Predictions(prediction_service_pb2_grpc.PredictionServiceServicer):
    def Predict(self, request, context):
        assert request.model_spec.name == flags.model_name
        inputs = {name: tf.constant(tf.make_ndarray(one)) for name, one in request.inputs.items()}
        answer = predict_pb2.PredictResponse()
        for name, tensor in signatures[request.model_spec.signature_name](**inputs).items():
            answer.outputs[name].CopyFrom(tf.make_tensor_proto(tensor))
        return answer


server = grpc.server(futures.ThreadPoolExecutor(2))
model_service_pb2_grpc.add_ModelServiceServicer_to_server(Models(), server)
prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Predictions(), server)
server.add_insecure_port(f"unix:{flags.grpc_socket_path}")
server.start()
server.wait_for_termination()
"""


def test_a_model_server_on_the_path_is_asked_over_a_socket(
    tmp_path, model, examples, capfd, monkeypatch
):
    folder = tmp_path / "bin"
    folder.mkdir()
    _write_program(folder / "tensorflow_model_server", _SERVER)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    blessing = validate(
        tmp_path, InfraValidator(model=model, examples=examples, request_spec={"num_examples": 3})
    )

    assert blessing.get_int_custom_property("blessed") == 1
    assert "has loaded the model and answered 3 requests" in "".join(capfd.readouterr())


def test_requests_that_cannot_be_made_stop_the_step(tmp_path, model, examples):
    asked = {"tensorflow_serving": {"signature_names": ["prdict"]}}
    with pytest.raises(StepFailed, match="no signature 'prdict'; it has plain"):
        validate(tmp_path, InfraValidator(model=model, examples=examples, request_spec=asked))


def test_a_request_spec_needs_examples(model):
    with pytest.raises(ValueError, match="needs examples"):
        InfraValidator(model=model, request_spec={"num_examples": 1})
