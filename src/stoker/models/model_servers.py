# SPDX-License-Identifier: Apache-2.0
"""Servers that try a model for an InfraValidator: TensorFlow Serving, or a process of our own."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

from stoker.any_python.forking import Child, ProcessDied, ProcessRaised
from stoker.models.serving_model import ServingModel, SignatureInputs

Request = Any
"""A PredictRequest of TensorFlow Serving."""

_BINARY = "tensorflow_model_server"
_MODEL_NAME = "infra-validation-model"
_ANSWER_SECONDS = 60


class Unservable(Exception):
    """A server could not load a model, or had no answer to a request."""


def choose_server(folder: str, loading_seconds: float) -> "TensorFlowServing | FreshProcess":
    """TensorFlow Serving where it is installed, else a process with this TensorFlow."""
    if binary := shutil.which(_BINARY):
        return TensorFlowServing(folder, loading_seconds, binary)
    return FreshProcess(folder, loading_seconds)


def make_requests(
    folder: str, signature_names: Sequence[str], records: Sequence[bytes]
) -> list[Request]:
    """A request for each example and signature, without loading the model."""
    requests = []
    for name in signature_names:
        signature = SignatureInputs(folder, name)
        for record in records:
            request = predict_pb2.PredictRequest()
            request.model_spec.name = _MODEL_NAME
            request.model_spec.signature_name = signature.name
            for key, array in signature.make([record]).items():
                request.inputs[key].CopyFrom(tf.make_tensor_proto(array))
            requests.append(request)
    return requests


@dataclass(frozen=True, slots=True)
class FreshProcess:
    """A fork of this process, which has imported TensorFlow and not used it yet."""

    folder: str
    loading_seconds: float

    def __str__(self) -> str:
        return f"A fresh process with TensorFlow {tf.__version__}"

    def try_model(self, requests: Sequence[Request]) -> None:
        """Load the model and send the requests, or raise Unservable."""
        with Child(_serve, self.folder, requests) as server:
            _wait_until(server, "load the model", self.loading_seconds)
            for _ in requests:
                _wait_until(server, "answer a request", _ANSWER_SECONDS)


def _serve(connection: Connection, folder: str, requests: Sequence[Request]) -> None:
    """The life of the fresh process: it says when the model is loaded, and after each request."""
    models = {
        name: ServingModel(folder, name)
        for name in {request.model_spec.signature_name for request in requests}
    }
    if not models:
        tf.saved_model.load(folder)
    connection.send("loaded")
    for request in requests:
        inputs = {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}
        models[request.model_spec.signature_name].ask(inputs)
        connection.send("answered")


def _wait_until(server: Child, what: str, seconds: float) -> None:
    try:
        server.receive(seconds)
    except TimeoutError:
        raise Unservable(f"it did not {what} within {seconds:g} seconds.") from None
    except ProcessDied as death:
        raise Unservable(f"it died when it should {what}: {death}.") from None
    except ProcessRaised as raised:
        raise Unservable(raised.message) from raised


@dataclass(frozen=True, slots=True)
class TensorFlowServing:
    """TensorFlow Serving, listening on a socket file only."""

    folder: str
    loading_seconds: float
    binary: str

    def __str__(self) -> str:
        return f"TensorFlow Serving ({self.binary})"

    def try_model(self, requests: Sequence[Request]) -> None:
        """Load the model and send the requests, or raise Unservable."""
        import grpc
        from tensorflow_serving.apis import prediction_service_pb2_grpc

        with self._run_server() as (process, socket):
            channel = grpc.insecure_channel(f"unix:{socket}")
            self._wait_until_loaded(process, channel)
            service = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            for request in requests:
                try:
                    service.Predict(request, timeout=_ANSWER_SECONDS)
                except grpc.RpcError as error:
                    raise Unservable(str(error)) from error

    @contextlib.contextmanager
    def _run_server(self) -> "Iterator[tuple[subprocess.Popen[bytes], str]]":
        with tempfile.TemporaryDirectory(prefix="stoker-serving-") as tmp:
            base, socket = os.path.join(tmp, "model"), os.path.join(tmp, "socket")
            shutil.copytree(self.folder, os.path.join(base, "1"))
            process = subprocess.Popen(
                [
                    self.binary,
                    "--port=0",
                    f"--grpc_socket_path={socket}",
                    f"--model_name={_MODEL_NAME}",
                    f"--model_base_path={base}",
                ]
            )
            try:
                yield process, socket
            finally:
                process.kill()
                process.wait()

    def _wait_until_loaded(self, process: "subprocess.Popen[bytes]", channel: Any) -> None:
        import grpc
        from tensorflow_serving.apis import get_model_status_pb2, model_service_pb2_grpc

        service = model_service_pb2_grpc.ModelServiceStub(channel)
        question = get_model_status_pb2.GetModelStatusRequest()
        question.model_spec.name = _MODEL_NAME
        deadline = time.monotonic() + self.loading_seconds
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise Unservable(f"it ended with exit code {process.returncode}.")
            with contextlib.suppress(grpc.RpcError):  # it does not listen yet
                states = service.GetModelStatus(question, timeout=1).model_version_status
                if any(one.state == one.AVAILABLE for one in states):
                    return
                if any(one.state == one.END for one in states):
                    raise Unservable(f"it could not load the model: {states[0].status}")
            time.sleep(0.1)
        raise Unservable(f"it did not load the model within {self.loading_seconds:g} seconds.")
