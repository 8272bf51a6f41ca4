# SPDX-License-Identifier: Apache-2.0
"""BulkInferrer: asks a model about every example of some splits, and keeps the answers.

They are kept as prediction logs, which hold the question too:

    inference_result: <uri>/prediction_logs-00000-of-0000N.gz    PredictionLog messages

or, with an OutputExampleSpec, as the same examples with the predictions as further features:

    output_examples: <uri>/Split-<name>/examples-00000-of-0000N.gz

There is a file for each shard of what is read.
"""

import collections
import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from stoker import dsl
from stoker.any_python.launcher_link import report_doing
from stoker.any_python.layout import serving_model_path
from stoker.any_python.lines import say
from stoker.any_python.progress import advance, follow
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
from stoker.data.sharding import Shard, plan_shards
from stoker.dsl.proto import bulk_inferrer_pb2
from stoker.models.blessing import is_blessed
from stoker.storage.files import remove_drafts
from stoker.storage.needed import Needed

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
    WORKS_ON_SHARDS: ClassVar = True

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
        from stoker.data.columns import find_num_rows

        ((output,),) = output_dict.values()
        blessings = input_dict.get("model_blessing")
        if blessings is not None and not is_blessed(blessings, "BLESSED"):
            say("The model is not blessed: there are no predictions.")
            output.set_int_custom_property("inferred", 0)
            return
        splits = _find_files(input_dict["examples"], exec_properties)
        report_doing("loading the model")
        asked = _find_asked(input_dict, exec_properties)
        outputs = list(_list_outputs(output, splits))
        asked.load()  # what is wrong with it is told before a shard is begun
        with self._context.open_pool(max(len(plan_shards(files)) for _, files in outputs)) as pool:
            for folder, files in outputs:
                shards = plan_shards(files)
                predict = partial(_predict_shard, asked, folder, len(shards))
                with follow("predicting", unit="examples", total=find_num_rows(files)):
                    collections.deque(pool.map(predict, enumerate(shards)), maxlen=0)
                remove_drafts(os.path.dirname(folder))  # of processes that were lost
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


@dataclass(frozen=True)
class _Asked:
    """Which signatures of a model are asked, and what becomes of the answers."""

    folder: str
    signatures: tuple[str, ...]
    tags: tuple[str, ...]
    output_example_spec: str | None
    """As JSON; without it, answers are logged."""

    @property
    def name(self) -> str:
        """What files of the answers are called."""
        return "prediction_logs" if self.output_example_spec is None else "examples"

    def load(self) -> Callable[[Iterable[list[bytes]]], Iterator[bytes]]:
        """What makes answers of examples; this process keeps it for its next shard."""
        return _load(self)


@functools.lru_cache(maxsize=1)
def _load(asked: _Asked) -> Callable[[Iterable[list[bytes]]], Iterator[bytes]]:
    from stoker.models.predictions import add_predictions, choose_features, log_predictions
    from stoker.models.serving_model import ServingModel

    models = [ServingModel(asked.folder, name, list(asked.tags)) for name in asked.signatures]
    if asked.output_example_spec is None:
        return partial(log_predictions, models)
    spec = dsl.parse_message(asked.output_example_spec, bulk_inferrer_pb2.OutputExampleSpec())
    return partial(add_predictions, models, choose_features(spec, models))


def _find_asked(input_dict: dsl.Artifacts, exec_properties: Mapping[str, Any]) -> _Asked:
    if not input_dict.get("model"):
        raise ValueError("BulkInferrer has no model. Give it model=trainer.outputs['model'].")
    spec = dsl.parse_message(exec_properties.get("model_spec"), bulk_inferrer_pb2.ModelSpec())
    return _Asked(
        folder=serving_model_path(input_dict["model"][0].uri),
        signatures=tuple(spec.model_signature_name) or ("",),
        tags=tuple(spec.tag) or ("serve",),
        output_example_spec=exec_properties.get("output_example_spec"),
    )


def _list_outputs(
    output: Artifact, splits: Mapping[str, list[str]]
) -> Iterator[tuple[str, list[str]]]:
    """The folders to write to, and the files of what goes there."""
    if not isinstance(output, Examples):
        yield output.uri, [path for paths in splits.values() for path in paths]
        return
    output.splits = list(splits)
    for split, files in splits.items():
        yield output.path(split=split), files


def _predict_shard(
    asked: _Asked, folder: str, num_shards: int, numbered: tuple[int, Shard]
) -> None:
    """Write what the model says of a shard, to a file that is whole."""
    from stoker.data.shards import draft_beside, move_shard
    from stoker.data.tfrecord import write_records

    number, shard = numbered
    name = f"{asked.name}-{number:05d}-of-{num_shards:05d}.gz"
    with draft_beside(folder) as draft:
        write_records(os.path.join(draft, name), asked.load()(_read_batches(shard.files)))
        move_shard(os.path.join(draft, name), os.path.join(folder, name))


def _read_batches(files: Sequence[str]) -> Iterator[list[bytes]]:
    from stoker.data.tfrecord import read_records

    records = itertools.chain.from_iterable(map(read_records, files))
    while batch := list(itertools.islice(records, _BATCH_ROWS)):
        yield batch
        advance(len(batch))
