# SPDX-License-Identifier: Apache-2.0
"""ModelValidator, of TFX's first editions: blesses a model that answers the eval examples.

TFX's own loaded the model, evaluated it, and compared nothing. Thresholds, and a comparison with
the last blessed model, are Evaluator's.
"""

from typing import Any, ClassVar

from stoker import dsl
from stoker.any_python.layout import serving_model_path
from stoker.any_python.lines import say
from stoker.artifacts import Examples, Model, ModelBlessing
from stoker.components.infra_validator import make_requests_of
from stoker.dsl.proto import infra_validator_pb2
from stoker.models.blessing import bless_model

_NUM_EXAMPLES = 100
_LOADING_SECONDS = 300


class ModelValidatorSpec(dsl.ComponentSpec):
    """The ModelValidator's table."""

    INPUTS: ClassVar = {
        "examples": dsl.ChannelParameter(type=Examples),
        "model": dsl.ChannelParameter(type=Model),
    }
    OUTPUTS: ClassVar = {"blessing": dsl.ChannelParameter(type=ModelBlessing)}
    PARAMETERS: ClassVar = {}


class ModelValidator(dsl.BaseComponent):
    """Blesses a model that can be loaded and answers the eval examples; use Evaluator for more."""

    SPEC_CLASS: ClassVar = ModelValidatorSpec
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec("stoker.components.model_validator:Executor")
    TYPE_NAME: ClassVar = "tfx.components.model_validator.component.ModelValidator"
    BASE_TYPE: ClassVar = "EVALUATE"
    USES_TENSORFLOW: ClassVar = True

    @dsl.take_older_names
    def __init__(
        self, examples: dsl.Channel, model: dsl.Channel, *, instance_name: str | None = None
    ) -> None:
        """Declare the step.

        Args:
            examples: The first 100 of split `eval` are sent to the model.
            model: The model to bless.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        super().__init__(ModelValidatorSpec.from_arguments(locals()), instance_name=instance_name)


class Executor(dsl.BaseExecutor):
    """Tries the model; whatever goes wrong is the model's fault, and it is not blessed."""

    def Do(  # noqa: D102
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        from stoker.models.model_servers import Unservable, choose_server

        del exec_properties
        (model,), (blessing,) = input_dict["model"], output_dict["blessing"]
        folder = serving_model_path(model.uri)
        asked = infra_validator_pb2.RequestSpec(split_name="eval", num_examples=_NUM_EXAMPLES)
        server = choose_server(folder, _LOADING_SECONDS)
        try:
            requests = make_requests_of(input_dict["examples"], folder, asked)
            server.try_model(requests)
        except Unservable as error:
            say(f"{server} could not serve the model: {error}")
            bless_model(blessing, [model], blessed=False)
        else:
            say(f"{server} has answered {len(requests)} requests. Thresholds are Evaluator's.")
            bless_model(blessing, [model], blessed=True)
