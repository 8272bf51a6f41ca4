# SPDX-License-Identifier: Apache-2.0
"""InfraValidator: can the model be loaded and asked, before anybody depends on it?

blessing: <uri>/INFRA_BLESSED or <uri>/INFRA_NOT_BLESSED    an empty file
          <uri>/stamped_model/    with make_warmup: the model, with the requests to warm it up
"""

import itertools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from stoker import dsl
from stoker.any_python.launcher_link import report_doing
from stoker.any_python.layout import serving_model_path
from stoker.any_python.lines import say
from stoker.artifacts import Artifact, Examples, InfraBlessing, Model, get_split_uri
from stoker.data.input_files import matching_files
from stoker.dsl.proto import infra_validator_pb2
from stoker.models.blessing import give_verdict
from stoker.storage.files import copy_tree
from stoker.storage.needed import Needed

if TYPE_CHECKING:
    from stoker.models.model_servers import Request

_LOADING_SECONDS = 300
_NUM_TRIES = 5
_WARMUP = os.path.join("assets.extra", "tf_serving_warmup_requests")


class InfraValidatorSpec(dsl.ComponentSpec):
    """The InfraValidator's table."""

    INPUTS: ClassVar = {
        "model": dsl.ChannelParameter(type=Model),
        "examples": dsl.ChannelParameter(type=Examples, optional=True),
    }
    OUTPUTS: ClassVar = {"blessing": dsl.ChannelParameter(type=InfraBlessing)}
    PARAMETERS: ClassVar = {
        "serving_spec": dsl.ExecutionParameter(type=infra_validator_pb2.ServingSpec, optional=True),
        "validation_spec": dsl.ExecutionParameter(
            type=infra_validator_pb2.ValidationSpec, optional=True
        ),
        "request_spec": dsl.ExecutionParameter(type=infra_validator_pb2.RequestSpec, optional=True),
    }


class InfraValidator(dsl.BaseComponent):
    """Loads the model as a server does and, with `request_spec`, sends it examples.

    The server is TensorFlow Serving where its binary, `tensorflow_model_server`, is on the PATH,
    and else a fresh process with this TensorFlow.
    """

    SPEC_CLASS: ClassVar = InfraValidatorSpec
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec("stoker.components.infra_validator:Executor")
    TYPE_NAME: ClassVar = "tfx.components.infra_validator.component.InfraValidator"
    BASE_TYPE: ClassVar = "EVALUATE"
    USES_TENSORFLOW: ClassVar = True

    @dsl.take_older_names
    def __init__(
        self,
        model: dsl.Channel,
        serving_spec: infra_validator_pb2.ServingSpec | dict[str, Any] | None = None,
        examples: dsl.Channel | None = None,
        request_spec: infra_validator_pb2.RequestSpec | dict[str, Any] | None = None,
        validation_spec: infra_validator_pb2.ValidationSpec | dict[str, Any] | None = None,
        *,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            model: The model to try.
            serving_spec: What serves the model. Images and platforms are accepted for TFX's
                pipelines, and not used: Stoker starts no containers.
            examples: Examples to send, which `request_spec` needs.
            request_spec: What to send: the split, the number of examples (1 by default), the
                signatures, and whether to keep the requests for warming up a server. Without it
                the model is only loaded.
            validation_spec: How many seconds loading may take (300 by default), and how often to
                try (5 times by default).
            instance_name: An older way to name the step; `with_id` is today's.
        """
        if request_spec is not None and examples is None:
            raise ValueError("InfraValidator(request_spec=…) needs examples to make requests of.")
        super().__init__(InfraValidatorSpec.from_arguments(locals()), instance_name=instance_name)

    def find_needed(self, parameters: dict[str, Any], splits: Sequence[str]) -> Needed:
        """The records of the one split that requests are made of; none without requests."""
        wanted = parameters.get("request_spec")
        asked = dsl.parse_message(wanted, infra_validator_pb2.RequestSpec())
        chosen = [asked.split_name] if asked.split_name else splits[:1]
        return Needed(splits=chosen if wanted else [], form="records")


class Executor(dsl.BaseExecutor):
    """Tries the model; whatever goes wrong is the model's fault, and it is not blessed."""

    def Do(  # noqa: D102
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        from stoker.models.model_servers import Unservable, choose_server

        (model,), (blessing,) = input_dict["model"], output_dict["blessing"]
        folder = serving_model_path(model.uri)
        limits = dsl.parse_message(
            exec_properties.get("validation_spec"), infra_validator_pb2.ValidationSpec()
        )
        wanted = exec_properties.get("request_spec")
        asked = dsl.parse_message(wanted, infra_validator_pb2.RequestSpec())
        requests = make_requests_of(input_dict["examples"], folder, asked) if wanted else []
        server = choose_server(folder, limits.max_loading_time_seconds or _LOADING_SECONDS)
        num_tries = limits.num_tries or _NUM_TRIES
        blessed = False
        for attempt in range(1, num_tries + 1):
            report_doing(f"serving the model, try {attempt} of {num_tries}")
            try:
                server.try_model(requests)
            except Unservable as error:
                say(f"{server} could not serve the model, try {attempt} of {num_tries}: {error}")
            else:
                say(f"{server} has loaded the model and answered {len(requests)} requests.")
                blessed = True
                break
        give_verdict(blessing, "INFRA_BLESSED", blessed=blessed)
        if blessed and asked.make_warmup:
            _stamp(folder, requests, blessing)


def make_requests_of(
    artifacts: list[Artifact], folder: str, asked: infra_validator_pb2.RequestSpec
) -> "list[Request]":
    """The first examples of the split, for each signature that is to be called."""
    from stoker.data.tfrecord import read_records
    from stoker.models.model_servers import make_requests

    (examples,) = artifacts
    assert isinstance(examples, Examples)
    split = asked.split_name or next(iter(examples.splits))
    files = matching_files(get_split_uri([examples], split))
    everything = itertools.chain.from_iterable(map(read_records, files))
    records = list(itertools.islice(everything, asked.num_examples or 1))
    return make_requests(folder, list(asked.tensorflow_serving.signature_names) or [""], records)


def _stamp(folder: str, requests: "list[Request]", blessing: Artifact) -> None:
    """Keep a copy of the model that brings its own requests to warm it up."""
    from tensorflow_serving.apis import prediction_log_pb2

    from stoker.data.tfrecord import write_records

    stamped = os.path.join(blessing.uri, "stamped_model")
    copy_tree(folder, stamped)
    logs = (
        prediction_log_pb2.PredictionLog(
            predict_log=prediction_log_pb2.PredictLog(request=request)
        ).SerializeToString()
        for request in requests
    )
    write_records(os.path.join(stamped, _WARMUP), logs)
    blessing.set_int_custom_property("has_model", 1)
