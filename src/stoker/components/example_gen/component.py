# SPDX-License-Identifier: Apache-2.0
"""The tables of the ExampleGens: which files they read, and how they split them.

To add an input format:
1. stoker/data/x.py reads such files as columns
2. executor.py here: an executor, whose `blocks` are the examples in them
3. this file: a step with the PATTERNS of their names, and its place in FORMATS
4. stoker/components/__init__.py: the name of the step
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from stoker import dsl
from stoker.any_python.layout import is_remote
from stoker.artifacts import Examples
from stoker.components.example_gen.configs import (
    make_default_input_config,
    make_default_output_config,
    name_output_splits,
    parse_range,
)
from stoker.components.example_gen.driver import FileBasedDriver, QueryBasedDriver
from stoker.components.example_gen.spans import below, check_patterns, check_range, choose
from stoker.dsl.proto import example_gen_pb2, range_config_pb2
from stoker.errors import BadData

_EXECUTORS = "stoker.components.example_gen.executor"
_PAYLOADS = (
    example_gen_pb2.FORMAT_TF_EXAMPLE,
    example_gen_pb2.FORMAT_TF_SEQUENCE_EXAMPLE,
    example_gen_pb2.FORMAT_PROTO,
)
_IMPORTED_PAYLOADS = (example_gen_pb2.FORMAT_TF_EXAMPLE, example_gen_pb2.FORMAT_PROTO)

InputConfig = example_gen_pb2.Input | dict[str, Any] | dsl.RuntimeParameter | None
OutputConfig = example_gen_pb2.Output | dict[str, Any] | dsl.RuntimeParameter | None
CustomConfig = example_gen_pb2.CustomConfig | dict[str, Any] | dsl.RuntimeParameter | None
RangeConfig = (
    range_config_pb2.RangeConfig | dict[str, Any] | dsl.RuntimeParameter | dsl.Placeholder | None
)


class QueryBasedExampleGenSpec(dsl.ComponentSpec):
    """The table of an ExampleGen that asks a database."""

    PARAMETERS: ClassVar = {
        "input_config": dsl.ExecutionParameter(type=example_gen_pb2.Input),
        "output_config": dsl.ExecutionParameter(type=example_gen_pb2.Output),
        "output_data_format": dsl.ExecutionParameter(type=int),
        "output_file_format": dsl.ExecutionParameter(type=int),
        "custom_config": dsl.ExecutionParameter(type=example_gen_pb2.CustomConfig, optional=True),
        "range_config": dsl.ExecutionParameter(type=range_config_pb2.RangeConfig, optional=True),
    }
    OUTPUTS: ClassVar = {"examples": dsl.ChannelParameter(type=Examples)}
    OLDER_NAMES: ClassVar = {"example_artifacts": "examples", "output": "examples"}


class FileBasedExampleGenSpec(dsl.ComponentSpec):
    """The table of an ExampleGen that reads files."""

    PARAMETERS: ClassVar = {
        "input_base": dsl.ExecutionParameter(type=str, names_file=True),
        **QueryBasedExampleGenSpec.PARAMETERS,
    }
    OUTPUTS: ClassVar = QueryBasedExampleGenSpec.OUTPUTS
    OLDER_NAMES: ClassVar = QueryBasedExampleGenSpec.OLDER_NAMES


class QueryBasedExampleGen(dsl.BaseComponent):
    """Queries to examples, by an executor that says how they are asked."""

    SPEC_CLASS: ClassVar = QueryBasedExampleGenSpec
    BASE_TYPE: ClassVar = "PROCESS"
    TYPE_NAME: ClassVar = "tfx.components.example_gen.component.QueryBasedExampleGen"
    DRIVER_CLASS: ClassVar = QueryBasedDriver

    @dsl.take_older_names
    def __init__(
        self,
        input_config: InputConfig,
        output_config: OutputConfig = None,
        custom_config: CustomConfig = None,
        range_config: RangeConfig = None,
        output_data_format: int = example_gen_pb2.FORMAT_TF_EXAMPLE,
        output_file_format: int = example_gen_pb2.FORMAT_TFRECORDS_GZIP,
        custom_executor_spec: dsl.ExecutorClassSpec | None = None,
        *,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            input_config: A query for each split of the input.
            output_config: The splits to write. By default an input of one split becomes two parts
                "train" and one part "eval", and an input of several keeps them.
            custom_config: What else the executor has to know: a message, or anything that JSON can
                say.
            range_config: The day whose begin and end are filled into the queries.
            output_data_format: What the records are: FORMAT_TF_EXAMPLE, the default,
                FORMAT_TF_SEQUENCE_EXAMPLE or FORMAT_PROTO.
            output_file_format: What the files are: FORMAT_TFRECORDS_GZIP.
            custom_executor_spec: An executor of your own, which asks the queries.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        _check_executor(self, custom_executor_spec)
        _check_formats(output_data_format, output_file_format)
        if output_config is None:
            output_config = _default_output(input_config)
        _check_splits(input_config, output_config)
        spec = QueryBasedExampleGenSpec.from_arguments(locals())
        super().__init__(spec, custom_executor_spec, instance_name=instance_name)


class FileBasedExampleGen(dsl.BaseComponent):
    """Files to examples, by an executor that says how they are read."""

    SPEC_CLASS: ClassVar = FileBasedExampleGenSpec
    BASE_TYPE: ClassVar = "PROCESS"
    TYPE_NAME: ClassVar = "tfx.components.example_gen.component.FileBasedExampleGen"
    DRIVER_CLASS: ClassVar = FileBasedDriver
    PRELOAD: ClassVar[tuple[str, ...]] = (_EXECUTORS,)
    WORKS_ON_SHARDS: ClassVar = True
    PATTERNS: ClassVar[tuple[str, ...]] = ()
    """The names that files of this format have, for `stoker train --data`."""

    @dsl.take_older_names
    def __init__(
        self,
        input_base: str | dsl.RuntimeParameter | dsl.Channel | None = None,
        input_config: InputConfig = None,
        output_config: OutputConfig = None,
        custom_config: CustomConfig = None,
        range_config: RangeConfig = None,
        output_data_format: int = example_gen_pb2.FORMAT_TF_EXAMPLE,
        output_file_format: int = example_gen_pb2.FORMAT_TFRECORDS_GZIP,
        custom_executor_spec: dsl.ExecutorClassSpec | None = None,
        *,
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
            custom_config: What else the executor has to know: a message, or anything that JSON can
                say.
            range_config: The span to read where patterns have a {SPAN} or a date; the newest by
                default.
            output_data_format: What the records are: FORMAT_TF_EXAMPLE, the default,
                FORMAT_TF_SEQUENCE_EXAMPLE or FORMAT_PROTO.
            output_file_format: What the files are: FORMAT_TFRECORDS_GZIP.
            custom_executor_spec: An executor of your own, which reads the files.
            input: An older way to give `input_base`.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        _check_executor(self, custom_executor_spec)
        _check_formats(output_data_format, output_file_format)
        if input_config is None:
            input_config = make_default_input_config()
        if output_config is None:
            output_config = _default_output(input_config)
        _check_splits(input_config, output_config)
        _check_spans(input_config, range_config)
        base = _choose_base(input_base, input)
        spec = FileBasedExampleGenSpec.from_arguments(locals(), input_base=base)
        super().__init__(spec, custom_executor_spec, instance_name=instance_name)

    def external_files(self, parameters: dict[str, Any]) -> list[str]:
        """Every file that the input patterns match; none if that is an error, which `Do` tells."""
        with contextlib.suppress(BadData, ValueError):
            found = self._find_files(parameters).values()
            return list(dict.fromkeys(file for files in found for file in files))
        return []

    def find_problems(self, parameters: dict[str, Any]) -> Iterator[dsl.Problem]:
        """That a pattern matches no file."""
        try:
            found = self._find_files(parameters)
        except (BadData, ValueError) as error:
            yield dsl.Problem(text=str(error))
            return
        for pattern, files in found.items():
            if not files:
                text = f"No file matches {pattern!r}. Check input_base and the pattern."
                yield dsl.Problem(text=text)

    def _find_files(self, parameters: dict[str, Any]) -> dict[str, list[str]]:
        """The files of each input split, by its pattern."""
        from stoker.data.input_files import find_files

        base = parameters["input_base"]
        given = dsl.parse_message(parameters["input_config"], example_gen_pb2.Input())
        chosen = choose(base, given.splits, parse_range(parameters.get("range_config")))
        patterns = [below(base, pattern) for pattern in chosen.patterns.values()]
        return {pattern: find_files(pattern) for pattern in patterns}


class _FormatExampleGen(FileBasedExampleGen):
    """An ExampleGen for files of one format."""

    @dsl.take_older_names
    def __init__(
        self,
        input_base: str | dsl.RuntimeParameter | dsl.Channel | None = None,
        input_config: InputConfig = None,
        output_config: OutputConfig = None,
        range_config: RangeConfig = None,
        custom_executor_spec: dsl.ExecutorClassSpec | None = None,
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
            custom_executor_spec: An executor of your own, which reads the files.
            input: An older way to give `input_base`.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        super().__init__(
            input_base,
            input_config,
            output_config,
            range_config=range_config,
            custom_executor_spec=custom_executor_spec,
            input=input,
            instance_name=instance_name,
        )


class CsvExampleGen(_FormatExampleGen):
    """CSV files with a header, split 2:1 into train and eval unless told otherwise."""

    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec(f"{_EXECUTORS}:CsvExecutor")
    TYPE_NAME: ClassVar = "tfx.components.example_gen.csv_example_gen.component.CsvExampleGen"
    PRELOAD: ClassVar = (_EXECUTORS, "stoker.data.csv")
    PATTERNS: ClassVar = ("*.csv",)

    def find_problems(self, parameters: dict[str, Any]) -> Iterator[dsl.Problem]:
        """What all ExampleGens look for, a delimiter that is not a comma, and other headers."""
        from stoker.data.csv_header import find_other_delimiter, find_other_header

        yield from super().find_problems(parameters)
        with contextlib.suppress(BadData, ValueError):
            for files in self._find_files(parameters).values():
                if other := find_other_header([file for file in files if not is_remote(file)]):
                    is_ours = self.executor_spec is self.EXECUTOR_SPEC
                    yield dsl.Problem(text=other, is_certain=is_ours)
            for file in self.external_files(parameters)[:1]:
                if not is_remote(file) and (mark := find_other_delimiter(file)):
                    text = f"{file} has one column: write commas between its cells, not {mark!r}."
                    yield dsl.Problem(text=text, is_certain=False)

    def find_features(self, parameters: dict[str, Any]) -> dict[str, str] | None:
        """The names in the header, with what the first rows show of text."""
        from stoker.data.csv_header import find_words

        with contextlib.suppress(BadData, ValueError):
            files = self.external_files(parameters)
            if files and not is_remote(files[0]):
                return find_words(files[0])
        return None


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
        _check_format(
            "payload_format", payload_format, _IMPORTED_PAYLOADS, example_gen_pb2.PayloadFormat.Name
        )
        super().__init__(
            input_base,
            input_config,
            output_config,
            range_config=range_config,
            output_data_format=payload_format,
            input=input,
            instance_name=instance_name,
        )


class ParquetExampleGen(_FormatExampleGen):
    """Parquet files of numbers, text and lists of them, split like those of CsvExampleGen."""

    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec(f"{_EXECUTORS}:ParquetExecutor")
    TYPE_NAME: ClassVar = "stoker.components.example_gen.ParquetExampleGen"
    PRELOAD: ClassVar = (_EXECUTORS, "stoker.data.parquet")
    PATTERNS: ClassVar = ("*.parquet",)


class AvroExampleGen(_FormatExampleGen):
    """Avro files of numbers, text and lists of them, split like those of CsvExampleGen."""

    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec(f"{_EXECUTORS}:AvroExecutor")
    TYPE_NAME: ClassVar = "stoker.components.example_gen.AvroExampleGen"
    PRELOAD: ClassVar = (_EXECUTORS, "stoker.data.avro")
    PATTERNS: ClassVar = ("*.avro",)


class JsonExampleGen(_FormatExampleGen):
    """Files with a JSON object in each line, gzip or plain, split like those of CsvExampleGen."""

    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec(f"{_EXECUTORS}:JsonExecutor")
    TYPE_NAME: ClassVar = "stoker.components.example_gen.JsonExampleGen"
    PRELOAD: ClassVar = (_EXECUTORS, "stoker.data.json_lines")
    PATTERNS: ClassVar = ("*.jsonl", "*.ndjson", "*.json")


FORMATS: tuple[type[FileBasedExampleGen], ...] = (
    CsvExampleGen,
    ImportExampleGen,
    ParquetExampleGen,
    AvroExampleGen,
    JsonExampleGen,
)
"""The formats that are known by the names of files; add new ones here."""


def _check_executor(step: dsl.BaseComponent, given: dsl.ExecutorClassSpec | None) -> None:
    if given is None and not hasattr(step, "EXECUTOR_SPEC"):
        *most, last = (known.__name__ for known in FORMATS)
        raise ValueError(
            f"{type(step).__name__} needs a custom_executor_spec, such as BeamExecutorSpec("
            f"MyExecutor). For files of a known kind use {', '.join(most)} or {last}."
        )


def _check_formats(data_format: int, file_format: int) -> None:
    payload_name, file_name = example_gen_pb2.PayloadFormat.Name, example_gen_pb2.FileFormat.Name
    _check_format("output_data_format", data_format, _PAYLOADS, payload_name)
    files = (example_gen_pb2.FORMAT_TFRECORDS_GZIP,)
    _check_format("output_file_format", file_format, files, file_name)


def _check_format(
    argument: str, given: int, known: tuple[int, ...], name: Callable[[Any], str]
) -> None:
    if given not in known:
        raise ValueError(f"{argument} is one of {', '.join(map(name, known))}, got {given!r}.")


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
        made = f"what {given.producer.id} will make" if given.producer else f"{len(uris)} artifacts"
        raise ValueError(
            f"input_base is a path that is known before the run, got {made}. Give the path, or "
            "write a component whose executor reads it from its input."
        )
    return uris[0]


def _check_splits(input_config: InputConfig, output_config: OutputConfig) -> None:
    """Refuse what can be seen to be wrong before RuntimeParameters have their values."""
    if isinstance(input_config, example_gen_pb2.Input) and isinstance(
        output_config, example_gen_pb2.Output
    ):
        name_output_splits(input_config, output_config)


def _check_spans(input_config: InputConfig, range_config: RangeConfig) -> None:
    if not isinstance(input_config, example_gen_pb2.Input):
        return
    check_patterns(input_config.splits)
    if isinstance(range_config, range_config_pb2.RangeConfig):
        check_range(input_config.splits, range_config)


def _default_output(input_config: InputConfig) -> example_gen_pb2.Output:
    if input_config is None or isinstance(input_config, dsl.RuntimeParameter):
        raise ValueError(
            "With a RuntimeParameter as input_config, give an output_config too: "
            "its default depends on how many splits the input has."
        )
    return make_default_output_config(input_config)
