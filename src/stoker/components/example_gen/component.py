# SPDX-License-Identifier: Apache-2.0
"""The tables of the ExampleGens: which files they read, and how they split them.

To add an input format:
1. stoker/data/x.py reads such files as columns
2. executor.py here: an executor, whose `blocks` are the examples in them
3. this file: a step with the PATTERNS of their names, and its place in FORMATS
4. stoker/components/__init__.py: the name of the step
"""

import contextlib
from typing import Any, ClassVar

from google.protobuf import json_format

from stoker import dsl
from stoker.any_python.names import check_file_name
from stoker.artifacts import Examples
from stoker.components.example_gen.spans import check_patterns, check_range, choose
from stoker.dsl.proto import example_gen_pb2, range_config_pb2
from stoker.errors import BadData

_EXECUTORS = "stoker.components.example_gen.executor"
_PAYLOADS = (example_gen_pb2.FORMAT_TF_EXAMPLE, example_gen_pb2.FORMAT_PROTO)

InputConfig = example_gen_pb2.Input | dict[str, Any] | dsl.RuntimeParameter | None
OutputConfig = example_gen_pb2.Output | dict[str, Any] | dsl.RuntimeParameter | None
RangeConfig = (
    range_config_pb2.RangeConfig | dict[str, Any] | dsl.RuntimeParameter | dsl.Placeholder | None
)


class FileBasedExampleGenSpec(dsl.ComponentSpec):
    """The table of an ExampleGen that reads files."""

    PARAMETERS: ClassVar = {
        "input_base": dsl.ExecutionParameter(type=str, names_file=True),
        "input_config": dsl.ExecutionParameter(type=example_gen_pb2.Input),
        "output_config": dsl.ExecutionParameter(type=example_gen_pb2.Output),
        "output_data_format": dsl.ExecutionParameter(type=int),
        "output_file_format": dsl.ExecutionParameter(type=int),
        "range_config": dsl.ExecutionParameter(type=range_config_pb2.RangeConfig, optional=True),
    }
    OUTPUTS: ClassVar = {"examples": dsl.ChannelParameter(type=Examples)}
    OLDER_NAMES: ClassVar = {"example_artifacts": "examples", "output": "examples"}


class FileBasedExampleGen(dsl.BaseComponent):
    """Files to examples, by an executor that says how they are read."""

    SPEC_CLASS: ClassVar = FileBasedExampleGenSpec
    BASE_TYPE: ClassVar = "PROCESS"
    TYPE_NAME: ClassVar = "tfx.components.example_gen.component.FileBasedExampleGen"
    PRELOAD: ClassVar[tuple[str, ...]] = (_EXECUTORS,)
    PATTERNS: ClassVar[tuple[str, ...]] = ()
    """The names that files of this format have, for `stoker train --data`."""

    @dsl.take_older_names
    def __init__(
        self,
        input_base: str | dsl.RuntimeParameter | dsl.Channel | None = None,
        input_config: InputConfig = None,
        output_config: OutputConfig = None,
        range_config: RangeConfig = None,
        custom_executor_spec: dsl.ExecutorClassSpec | None = None,
        *,
        payload_format: int = example_gen_pb2.FORMAT_TF_EXAMPLE,
        input: dsl.Channel | str | None = None,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            input_base: The folder that holds the files, or what `external_input(path)` gives.
            input_config: A pattern for each split of the input, below `input_base`; by default all
                files are one split.
            output_config: The splits to write. By default an input of one split becomes two parts
                "train" and one part "eval", and an input of several keeps them.
            range_config: The span to read where patterns have a {SPAN} or a date; the newest by
                default.
            custom_executor_spec: An executor of your own, which reads the files.
            payload_format: What the records are: FORMAT_TF_EXAMPLE, the default, or FORMAT_PROTO.
            input: An older way to give `input_base`.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        if custom_executor_spec is None and type(self) is FileBasedExampleGen:
            *most, last = (step.__name__ for step in FORMATS)
            raise ValueError(
                "FileBasedExampleGen needs a custom_executor_spec, such as BeamExecutorSpec("
                f"parquet_executor.Executor). For files of a known kind use {', '.join(most)} or "
                f"{last}."
            )
        if input_config is None:
            input_config = example_gen_pb2.Input()
            input_config.splits.add(name="single_split", pattern="*")
        if output_config is None:
            output_config = _default_output(input_config)
        _check_configs(input_config, output_config, range_config)
        spec = FileBasedExampleGenSpec.from_arguments(
            locals(),
            input_base=_choose_base(input_base, input),
            output_data_format=payload_format,
            output_file_format=example_gen_pb2.FORMAT_TFRECORDS_GZIP,
        )
        super().__init__(spec, custom_executor_spec, instance_name=instance_name)

    def external_files(self, parameters: dict[str, Any]) -> list[str]:
        """Every file that the input patterns match; none if that is an error, which `Do` tells."""
        from stoker.data.input_files import matching_files

        given = json_format.Parse(parameters["input_config"], example_gen_pb2.Input())
        with contextlib.suppress(BadData, ValueError):
            span_range = parse_range(parameters.get("range_config"))
            chosen = choose(parameters["input_base"], given.splits, span_range)
            return matching_files(chosen.patterns.values())
        return []


class CsvExampleGen(FileBasedExampleGen):
    """CSV files with a header, split 2:1 into train and eval unless told otherwise."""

    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec(f"{_EXECUTORS}:CsvExecutor")
    TYPE_NAME: ClassVar = "tfx.components.example_gen.csv_example_gen.component.CsvExampleGen"
    PRELOAD: ClassVar = (_EXECUTORS, "stoker.data.csv")
    PATTERNS: ClassVar = ("*.csv",)


class ImportExampleGen(FileBasedExampleGen):
    """TFRecords of tf.Examples, gzip or plain, split like those of CsvExampleGen."""

    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec(f"{_EXECUTORS}:ImportExecutor")
    TYPE_NAME: ClassVar = "tfx.components.example_gen.import_example_gen.component.ImportExampleGen"
    PRELOAD: ClassVar = (_EXECUTORS, "stoker.data.decode")
    PATTERNS: ClassVar = ("*tfrecord*",)

    @dsl.take_older_names
    def __init__(
        self,
        input_base: str | dsl.RuntimeParameter | dsl.Channel | None = None,
        input_config: InputConfig = None,
        output_config: OutputConfig = None,
        range_config: RangeConfig = None,
        payload_format: int = example_gen_pb2.FORMAT_TF_EXAMPLE,
        *,
        input: dsl.Channel | str | None = None,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step; the arguments are those of FileBasedExampleGen.

        Args:
            input_base: The folder that holds the files.
            input_config: A pattern for each split of the input, below `input_base`.
            output_config: The splits to write.
            range_config: The span to read.
            payload_format: What the records are: FORMAT_TF_EXAMPLE, the default, or FORMAT_PROTO.
            input: An older way to give `input_base`.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        if payload_format not in _PAYLOADS:
            known = [example_gen_pb2.PayloadFormat.Name(one) for one in _PAYLOADS]
            raise ValueError(
                f"ImportExampleGen: payload_format is one of {known}, got {payload_format!r}."
            )
        super().__init__(
            input_base,
            input_config,
            output_config,
            range_config,
            payload_format=payload_format,
            input=input,
            instance_name=instance_name,
        )


class ParquetExampleGen(FileBasedExampleGen):
    """Parquet files of numbers, text and lists of them, split like those of CsvExampleGen."""

    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec(f"{_EXECUTORS}:ParquetExecutor")
    TYPE_NAME: ClassVar = "stoker.components.example_gen.ParquetExampleGen"
    PRELOAD: ClassVar = (_EXECUTORS, "stoker.data.parquet")
    PATTERNS: ClassVar = ("*.parquet",)


class JsonExampleGen(FileBasedExampleGen):
    """Files with a JSON object in each line, gzip or plain, split like those of CsvExampleGen."""

    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec(f"{_EXECUTORS}:JsonExecutor")
    TYPE_NAME: ClassVar = "stoker.components.example_gen.JsonExampleGen"
    PRELOAD: ClassVar = (_EXECUTORS, "stoker.data.json_lines")
    PATTERNS: ClassVar = ("*.jsonl", "*.ndjson", "*.json")


FORMATS: tuple[type[FileBasedExampleGen], ...] = (
    CsvExampleGen,
    ImportExampleGen,
    ParquetExampleGen,
    JsonExampleGen,
)
"""The formats that are known by the names of files; add new ones here."""


def _choose_base(
    input_base: str | dsl.RuntimeParameter | dsl.Channel | None, source: dsl.Channel | str | None
) -> str | dsl.RuntimeParameter:
    """The folder to read, however an edition of TFX spelled it."""
    given = source if input_base is None else input_base
    if given is None or (input_base is not None and source is not None):
        raise ValueError("An ExampleGen needs `input_base`: the folder that holds its files.")
    if not isinstance(given, dsl.Channel):
        return given
    uris = [artifact.uri for artifact in given.get()]
    if len(uris) != 1:
        raise ValueError(
            f"An ExampleGen takes what external_input(path) gives: one artifact, got {len(uris)}. "
            "Use input_base=path."
        )
    return uris[0]


def _check_configs(
    input_config: InputConfig, output_config: OutputConfig, range_config: RangeConfig
) -> None:
    """Refuse what can be seen to be wrong before RuntimeParameters have their values."""
    if not isinstance(input_config, example_gen_pb2.Input):
        return
    if isinstance(output_config, example_gen_pb2.Output):
        output_split_names(input_config, output_config)
    if isinstance(range_config, range_config_pb2.RangeConfig):
        check_range(input_config.splits, range_config)


def parse_range(text: str | None) -> range_config_pb2.RangeConfig | None:
    """The range that a step was given as a parameter, if any."""
    return json_format.Parse(text, range_config_pb2.RangeConfig()) if text else None


def _default_output(
    input_config: example_gen_pb2.Input | dict[str, Any] | dsl.RuntimeParameter,
) -> example_gen_pb2.Output:
    """Two parts train and one part eval, unless the input is split already."""
    if isinstance(input_config, dsl.RuntimeParameter):
        raise ValueError(
            "With a RuntimeParameter as input_config, give an output_config too: "
            "its default depends on how many splits the input has."
        )
    splits = input_config["splits"] if isinstance(input_config, dict) else input_config.splits
    output = example_gen_pb2.Output()
    if len(splits) <= 1:
        output.split_config.splits.add(name="train", hash_buckets=2)
        output.split_config.splits.add(name="eval", hash_buckets=1)
    return output


def output_split_names(
    input_config: example_gen_pb2.Input, output_config: example_gen_pb2.Output
) -> list[str]:
    """The names of the splits that will be written; a configuration that cannot be is an error."""
    for split in input_config.splits:
        if not split.name or not split.pattern:
            raise ValueError(f"Each input split needs a name and a pattern, got {split!r}.")
    check_patterns(input_config.splits)
    hashed = output_config.split_config.splits
    if hashed and len(input_config.splits) != 1:
        raise ValueError(
            f"output_config splits one input, but input_config has {len(input_config.splits)} "
            "splits. Give one input split, or leave out output_config to keep them."
        )
    for bucket in hashed:
        if not bucket.name or not bucket.hash_buckets:
            raise ValueError(f"Each output split needs a name and hash_buckets, got {bucket!r}.")
    names = [split.name for split in hashed or input_config.splits]
    if not names or len(names) != len(set(names)):
        raise ValueError(f"An ExampleGen needs splits with different names, got {names}.")
    return [check_file_name(name, "The name of a split") for name in names]
