# SPDX-License-Identifier: Apache-2.0
"""BulkInferrer: asks a model about every example of some splits, and keeps the answers.

They are kept as prediction logs, which hold the question too:

    inference_result: <uri>/prediction_logs-00000-of-00001.gz    PredictionLog messages

or, with an OutputExampleSpec, as the same examples with the predictions as further features:

    output_examples: <uri>/Split-<name>/examples-00000-of-00001.gz
"""

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from stoker import dsl
from stoker.any_python.launcher_link import report_doing
from stoker.any_python.layout import serving_model_path
from stoker.any_python.lines import say
from stoker.any_python.progress import Progress
from stoker.artifacts import (
    Artifact,
    Examples,
    InferenceResult,
    Model,
    ModelBlessing,
    decode_split_names,
    get_split_uris,
)
from stoker.data.input_files import matching_files
from stoker.dsl.proto import bulk_inferrer_pb2
from stoker.models.blessing import is_blessed
from stoker.storage.needed import Needed

if TYPE_CHECKING:
    from stoker.models.serving_model import ServingModel

_LOGS = "prediction_logs-00000-of-00001.gz"
_SHARD = "examples-00000-of-00001.gz"
_BATCH_ROWS = 512


class BulkInferrerSpec(dsl.ComponentSpec):
    """The BulkInferrer's table."""

    INPUTS: ClassVar = {
        "examples": dsl.ChannelParameter(type=Examples),
        "model": dsl.ChannelParameter(type=Model, optional=True),
        "model_blessing": dsl.ChannelParameter(type=ModelBlessing, optional=True),
    }
    OUTPUTS: ClassVar = {
        "inference_result": dsl.ChannelParameter(type=InferenceResult),
        "output_examples": dsl.ChannelParameter(type=Examples),
    }
    OLDER_NAMES: ClassVar = {"output": "inference_result"}
    PARAMETERS: ClassVar = {
        "data_spec": dsl.ExecutionParameter(type=bulk_inferrer_pb2.DataSpec, optional=True),
        "model_spec": dsl.ExecutionParameter(type=bulk_inferrer_pb2.ModelSpec, optional=True),
        "output_example_spec": dsl.ExecutionParameter(
            type=bulk_inferrer_pb2.OutputExampleSpec, optional=True
        ),
    }


class BulkInferrer(dsl.BaseComponent):
    """Predictions for examples, unless the model's blessing is missing."""

    SPEC_CLASS: ClassVar = BulkInferrerSpec
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec("stoker.components.bulk_inferrer:Executor")
    TYPE_NAME: ClassVar = "tfx.components.bulk_inferrer.component.BulkInferrer"
    BASE_TYPE: ClassVar = "PROCESS"
    USES_TENSORFLOW: ClassVar = True

    @dsl.take_older_names
    def __init__(
        self,
        examples: dsl.Channel,
        model: dsl.Channel | None = None,
        model_blessing: dsl.Channel | None = None,
        data_spec: bulk_inferrer_pb2.DataSpec | dict[str, Any] | None = None,
        model_spec: bulk_inferrer_pb2.ModelSpec | dict[str, Any] | None = None,
        output_example_spec: bulk_inferrer_pb2.OutputExampleSpec | dict[str, Any] | None = None,
        *,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            examples: The examples to predict for.
            model: The model to ask.
            model_blessing: An Evaluator's verdict: a model that is not blessed is not asked.
            data_spec: The splits to read; all by default.
            model_spec: The signatures to call, and the tags of the model; `serving_default` and
                "serve" by default.
            output_example_spec: Which predictions to add to the examples as features; the output
                is then `output_examples`. Without it, `inference_result` holds prediction logs.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        spec = BulkInferrerSpec.from_arguments(locals())
        unused = "inference_result" if output_example_spec else "output_examples"
        del spec.outputs[unused]
        super().__init__(spec, instance_name=instance_name)

    def find_needed(self, parameters: dict[str, Any], splits: Sequence[str]) -> Needed:
        """The records of the splits that are asked for; of all by default."""
        asked = list(_read_data_spec(parameters).example_splits)
        return Needed(splits=asked or splits, form="records")


class Executor(dsl.BaseExecutor):
    """Calls the model's signatures on batches of examples."""

    def Do(  # noqa: D102
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        ((output,),) = output_dict.values()
        blessings = input_dict.get("model_blessing")
        if blessings is not None and not is_blessed(blessings, "BLESSED"):
            say("The model is not blessed: there are no predictions.")
            output.set_int_custom_property("inferred", 0)
            return
        splits = _find_files(input_dict["examples"], exec_properties)
        report_doing("loading the model")
        models = _load_models(input_dict, exec_properties)
        if isinstance(output, Examples):
            _write_examples(models, splits, exec_properties["output_example_spec"], output)
        else:
            _write_logs(models, splits, output)
        output.set_int_custom_property("inferred", 1)


def _read_data_spec(parameters: Mapping[str, Any]) -> bulk_inferrer_pb2.DataSpec:
    return dsl.parse_message(parameters.get("data_spec"), bulk_inferrer_pb2.DataSpec())


def _find_files(
    examples: Sequence[Artifact], exec_properties: Mapping[str, Any]
) -> dict[str, list[str]]:
    """The files of each split that is asked for."""
    spec = _read_data_spec(exec_properties)
    found = [
        name
        for artifact in examples
        for name in decode_split_names(str(artifact.properties.get("split_names", "")))
    ]
    return {
        split: matching_files(get_split_uris(examples, split))
        for split in spec.example_splits or dict.fromkeys(found)
    }


def _load_models(
    input_dict: dsl.Artifacts, exec_properties: Mapping[str, Any]
) -> "list[ServingModel]":
    """The model, once for each signature that it is asked by."""
    from stoker.models.serving_model import ServingModel

    if not input_dict.get("model"):
        raise ValueError("BulkInferrer has no model. Give it model=trainer.outputs['model'].")
    spec = dsl.parse_message(exec_properties.get("model_spec"), bulk_inferrer_pb2.ModelSpec())
    folder = serving_model_path(input_dict["model"][0].uri)
    names = list(spec.model_signature_name) or [""]
    return [ServingModel(folder, name, spec.tag or ["serve"]) for name in names]


def _write_logs(
    models: "Sequence[ServingModel]", splits: Mapping[str, list[str]], output: Artifact
) -> None:
    from stoker.data.tfrecord import write_records
    from stoker.models.predictions import log_predictions

    files = [path for paths in splits.values() for path in paths]
    write_records(os.path.join(output.uri, _LOGS), log_predictions(models, _read_batches(files)))


def _write_examples(
    models: "Sequence[ServingModel]",
    splits: Mapping[str, list[str]],
    output_example_spec: str,
    output: Examples,
) -> None:
    from stoker.data.tfrecord import write_records
    from stoker.models.predictions import add_predictions, choose_features

    spec = dsl.parse_message(output_example_spec, bulk_inferrer_pb2.OutputExampleSpec())
    features = choose_features(spec, models)
    output.splits = list(splits)
    for split, files in splits.items():
        predicted = add_predictions(models, features, _read_batches(files))
        write_records(os.path.join(output.path(split=split), _SHARD), predicted)


def _read_batches(files: Sequence[str]) -> Iterator[list[bytes]]:
    from stoker.data.columns import find_num_rows
    from stoker.data.tfrecord import read_records

    progress = Progress("predicting", unit="examples", total=find_num_rows(files))
    records = itertools.chain.from_iterable(map(read_records, files))
    while batch := list(itertools.islice(records, _BATCH_ROWS)):
        yield batch
        progress.advance(len(batch))
