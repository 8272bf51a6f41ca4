# SPDX-License-Identifier: Apache-2.0
"""ExampleValidator: holds the statistics of every split against a schema."""

import json
import os
from typing import TYPE_CHECKING, Any, ClassVar

from stoker import dsl
from stoker.any_python.layout import only_file
from stoker.any_python.lines import say
from stoker.artifacts import Artifact, ExampleAnomalies, ExampleStatistics, Schema
from stoker.errors import BadData

if TYPE_CHECKING:
    from tensorflow_metadata.proto.v0 import anomalies_pb2, statistics_pb2


class ExampleValidatorSpec(dsl.ComponentSpec):
    """The table of ExampleValidator; the last two inputs and parameters are not TFX's."""

    PARAMETERS: ClassVar = {
        "exclude_splits": dsl.ExecutionParameter(type=str, optional=True),
        "environment": dsl.ExecutionParameter(type=str, optional=True),
        "fail_on_anomalies": dsl.ExecutionParameter(type=bool, optional=True),
    }
    INPUTS: ClassVar = {
        "statistics": dsl.ChannelParameter(type=ExampleStatistics),
        "schema": dsl.ChannelParameter(type=Schema),
        "previous_statistics": dsl.ChannelParameter(type=ExampleStatistics, optional=True),
        "serving_statistics": dsl.ChannelParameter(type=ExampleStatistics, optional=True),
    }
    OUTPUTS: ClassVar = {"anomalies": dsl.ChannelParameter(type=ExampleAnomalies)}
    OLDER_NAMES: ClassVar = {"stats": "statistics", "output": "anomalies"}


class ExampleValidator(dsl.BaseComponent):
    """Finds what is missing, new, of another type or outside its domain."""

    SPEC_CLASS: ClassVar = ExampleValidatorSpec
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec("stoker.components.example_validator:Executor")
    TYPE_NAME: ClassVar = "tfx.components.example_validator.component.ExampleValidator"
    BASE_TYPE: ClassVar = "PROCESS"
    PRELOAD: ClassVar = ("stoker.statistics.anomalies", "stoker.statistics.data_schema")

    @dsl.take_older_names
    def __init__(
        self,
        statistics: dsl.Channel,
        schema: dsl.Channel,
        exclude_splits: list[str] | None = None,
        *,
        previous_statistics: dsl.Channel | None = None,
        serving_statistics: dsl.Channel | None = None,
        environment: str | dsl.RuntimeParameter | None = None,
        fail_on_anomalies: bool = False,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            statistics: The statistics to judge.
            schema: What the examples should be like.
            exclude_splits: The splits to leave out; none by default.
            previous_statistics: Statistics of earlier examples, for the drift comparators of the
                schema.
            serving_statistics: Statistics of what the model is asked when it serves, for the skew
                comparators of the schema.
            environment: One of the environments of the schema, such as "SERVING".
            fail_on_anomalies: Whether an anomaly fails the step. By default it is only reported.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        spec = ExampleValidatorSpec.from_arguments(
            locals(), exclude_splits=json.dumps(exclude_splits or [])
        )
        super().__init__(spec, instance_name=instance_name)


class Executor(dsl.BaseExecutor):
    """Writes `Split-<name>/SchemaDiff.pb` for every split that is not excluded, and reports it.

    The custom property `blessed` of the anomalies is 1 for a split that has none, else 0.
    """

    def Do(  # noqa: D102
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        from stoker.statistics.anomalies import ANOMALIES_FILE, has_anomalies, write_anomalies

        (statistics,), (anomalies,) = input_dict["statistics"], output_dict["anomalies"]
        assert isinstance(statistics, ExampleStatistics)
        assert isinstance(anomalies, ExampleAnomalies)
        excluded = json.loads(exec_properties.get("exclude_splits") or "[]") or []
        anomalies.splits = [split for split in statistics.splits if split not in excluded]
        anomalies.span = statistics.span
        found = _find(input_dict, anomalies.splits, exec_properties.get("environment"))
        for split, one in found.items():
            write_anomalies(one, os.path.join(anomalies.path(split=split), ANOMALIES_FILE))
        blessed = {split: int(not has_anomalies(one)) for split, one in found.items()}
        anomalies.set_json_value_custom_property("blessed", blessed)
        summary = "\n".join(f"{split}: {_summarize(one)}" for split, one in found.items())
        say(summary)
        if exec_properties.get("fail_on_anomalies") and not all(blessed.values()):
            raise BadData(
                f"The examples have anomalies: {_shorten(found)}\n"
                "Correct the data or the schema, or leave out fail_on_anomalies."
            )


def _find(
    input_dict: dsl.Artifacts, splits: list[str], environment: str | None
) -> "dict[str, anomalies_pb2.Anomalies]":
    """The anomalies of each split."""
    from stoker.statistics.anomalies import find_anomalies
    from stoker.statistics.data_schema import read_schema

    schema = read_schema(only_file(input_dict["schema"][0].uri))
    return {
        split: find_anomalies(
            _read_split_statistics(input_dict["statistics"], split),
            schema,
            environment=environment,
            previous=_read_split_statistics(input_dict.get("previous_statistics"), split),
            serving=_read_split_statistics(input_dict.get("serving_statistics"), split),
        )
        for split in splits
    }


def _read_split_statistics(
    artifacts: list[Artifact] | None, split: str
) -> "statistics_pb2.DatasetFeatureStatisticsList | None":
    """The statistics of a split, or of the only one there is, if there are any."""
    from stoker.statistics.compute import STATISTICS_FILE, read_statistics

    if not artifacts:
        return None
    (statistics,) = artifacts
    assert isinstance(statistics, ExampleStatistics)
    if split not in statistics.splits and len(statistics.splits) == 1:
        split = statistics.splits[0]
    return read_statistics(os.path.join(statistics.path(split=split), STATISTICS_FILE))


def _shorten(found: "dict[str, anomalies_pb2.Anomalies]") -> str:
    """The first anomaly, and how many more there are; the summary has all."""
    from stoker.statistics.anomalies import describe_anomalies

    lines = [(split, *line) for split, one in found.items() for line in describe_anomalies(one)]
    split, name, short, text = lines[0]
    more = f"; and {len(lines) - 1} more, which the step has listed" if lines[1:] else ""
    return f"{split}: {name}: {short}: {text.rstrip('.')}{more}."


def _summarize(anomalies: "anomalies_pb2.Anomalies") -> str:
    from stoker.statistics.anomalies import describe_anomalies

    lines = describe_anomalies(anomalies)
    if not lines:
        return "no anomalies"
    count = "1 anomaly" if len(lines) == 1 else f"{len(lines)} anomalies"
    width = max(len(name) for name, _, _ in lines)
    return "\n".join(
        [count, *(f"  {name:{width}}  {short}: {text}" for name, short, text in lines)]
    )
