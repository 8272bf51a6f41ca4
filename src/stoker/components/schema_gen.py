# SPDX-License-Identifier: Apache-2.0
"""SchemaGen infers the schema of examples from their statistics; ImportSchemaGen takes yours."""

import json
import os
from typing import Any, ClassVar

from stoker import dsl
from stoker.artifacts import ExampleStatistics, Schema
from stoker.errors import BadData


class SchemaGenSpec(dsl.ComponentSpec):
    """The table of SchemaGen."""

    PARAMETERS: ClassVar = {
        "infer_feature_shape": dsl.ExecutionParameter(type=bool, optional=True),
        "exclude_splits": dsl.ExecutionParameter(type=str, optional=True),
    }
    INPUTS: ClassVar = {"statistics": dsl.ChannelParameter(type=ExampleStatistics)}
    OUTPUTS: ClassVar = {"schema": dsl.ChannelParameter(type=Schema)}
    OLDER_NAMES: ClassVar = {"stats": "statistics", "output": "schema"}


class SchemaGen(dsl.BaseComponent):
    """Types, presence, shapes and small domains, from all splits that are not excluded."""

    SPEC_CLASS: ClassVar = SchemaGenSpec
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec("stoker.components.schema_gen:Executor")
    TYPE_NAME: ClassVar = "tfx.components.schema_gen.component.SchemaGen"
    BASE_TYPE: ClassVar = "PROCESS"
    PRELOAD: ClassVar = ("stoker.statistics.data_schema", "stoker.statistics.compute")

    @dsl.take_older_names
    def __init__(
        self,
        statistics: dsl.Channel,
        infer_feature_shape: bool | dsl.RuntimeParameter | None = None,
        exclude_splits: list[str] | None = None,
        *,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            statistics: The statistics to infer a schema from.
            infer_feature_shape: Whether a feature with the same number of values in every example
                gets a fixed shape. True by default, and False, as it was then, in a pipeline whose
                first steps have arguments that TFX dropped since.
            exclude_splits: The splits to leave out; none by default.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        if infer_feature_shape is None:
            infer_feature_shape = not (self.has_older_names or dsl.has_older_names(statistics))
        spec = SchemaGenSpec.from_arguments(
            locals(), exclude_splits=json.dumps(exclude_splits or [])
        )
        super().__init__(spec, instance_name=instance_name)


class Executor(dsl.BaseExecutor):
    """Writes `schema.pbtxt`."""

    def Do(  # noqa: D102
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        from tensorflow_metadata.proto.v0 import statistics_pb2

        from stoker.statistics.compute import STATISTICS_FILE, read_statistics
        from stoker.statistics.data_schema import SCHEMA_FILE, infer_schema, write_schema

        (statistics,), (schema,) = input_dict["statistics"], output_dict["schema"]
        assert isinstance(statistics, ExampleStatistics)
        excluded = json.loads(exec_properties.get("exclude_splits") or "[]") or []
        merged = statistics_pb2.DatasetFeatureStatisticsList()
        for split in statistics.splits:
            if split not in excluded:
                path = os.path.join(statistics.path(split=split), STATISTICS_FILE)
                merged.MergeFrom(read_statistics(path))
        if not merged.datasets:
            raise ValueError(
                f"No split is left to infer a schema from: {statistics.splits} without {excluded}. "
                "Exclude fewer of them."
            )
        if not any(dataset.num_examples for dataset in merged.datasets):
            raise BadData(
                f"{statistics.uri} is of no examples: there is nothing to infer a schema from. "
                "Look at the data that the ExampleGen reads."
            )
        inferred = infer_schema(merged, exec_properties.get("infer_feature_shape", True))
        write_schema(inferred, os.path.join(schema.uri, SCHEMA_FILE))


class ImportSchemaGenSpec(dsl.ComponentSpec):
    """The table of ImportSchemaGen."""

    PARAMETERS: ClassVar = {"schema_file": dsl.ExecutionParameter(type=str, names_file=True)}
    OUTPUTS: ClassVar = {"schema": dsl.ChannelParameter(type=Schema)}


class ImportSchemaGen(dsl.BaseComponent):
    """A schema that you wrote or edited, for the steps that read one."""

    SPEC_CLASS: ClassVar = ImportSchemaGenSpec
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec(
        "stoker.components.schema_gen:ImportSchemaExecutor"
    )
    TYPE_NAME: ClassVar = "tfx.components.schema_gen.import_schema_gen.component.ImportSchemaGen"
    BASE_TYPE: ClassVar = "PROCESS"
    PRELOAD: ClassVar = ("stoker.statistics.data_schema",)

    def __init__(
        self, schema_file: str | dsl.RuntimeParameter, *, instance_name: str | None = None
    ) -> None:
        """Declare the step.

        Args:
            schema_file: The path of the schema, a text file with a `Schema` message.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        super().__init__(ImportSchemaGenSpec(schema_file=schema_file), instance_name=instance_name)

    def external_files(self, parameters: dict[str, Any]) -> list[str]:  # noqa: D102
        return [parameters["schema_file"]]


class ImportSchemaExecutor(dsl.BaseExecutor):
    """Copies a schema, comments and all, once it is known to parse."""

    def Do(  # noqa: D102
        self,
        input_dict: dsl.Artifacts,  # noqa: ARG002
        output_dict: dsl.Artifacts,
        exec_properties: dict[str, Any],
    ) -> None:
        import shutil

        from stoker.statistics.data_schema import SCHEMA_FILE, read_schema

        (schema,) = output_dict["schema"]
        read_schema(exec_properties["schema_file"])
        os.makedirs(schema.uri, exist_ok=True)
        shutil.copyfile(exec_properties["schema_file"], os.path.join(schema.uri, SCHEMA_FILE))
