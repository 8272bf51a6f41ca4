# SPDX-License-Identifier: Apache-2.0
"""ExampleGen: where data enters a pipeline. CSV files or TFRecords become split tf.Examples."""

import abc
import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from google.protobuf import json_format

from stoker.artifacts import Artifact, Examples
from stoker.dsl import (
    BaseComponent,
    BaseExecutor,
    Channel,
    ChannelParameter,
    ComponentSpec,
    ExecutionParameter,
    ExecutorClassSpec,
    RuntimeParameter,
)
from stoker.errors import BadData
from stoker.proto import example_gen_pb2, range_config_pb2

__all__ = [
    "CsvExampleGen",
    "CsvExecutor",
    "FileBasedExampleGenSpec",
    "ImportExampleGen",
    "ImportExecutor",
    "output_split_names",
]

_SPAN_WORDS = ("{SPAN", "{VERSION", "{YYYY}", "{MM}", "{DD}")

InputConfig = example_gen_pb2.Input | dict[str, Any] | RuntimeParameter | None
OutputConfig = example_gen_pb2.Output | dict[str, Any] | RuntimeParameter | None
RangeConfig = range_config_pb2.RangeConfig | RuntimeParameter | None
Keyed = tuple[Sequence[bytes], Sequence[bytes]]
"""Some records, and for each the key that decides its split."""


class FileBasedExampleGenSpec(ComponentSpec):
    """The table of an ExampleGen that reads files."""

    PARAMETERS: ClassVar = {
        "input_base": ExecutionParameter(type=str),
        "input_config": ExecutionParameter(type=example_gen_pb2.Input),
        "output_config": ExecutionParameter(type=example_gen_pb2.Output),
        "output_data_format": ExecutionParameter(type=int),
        "output_file_format": ExecutionParameter(type=int),
    }
    OUTPUTS: ClassVar = {"examples": ChannelParameter(type=Examples)}


class _FileBasedExampleGen(BaseComponent):
    """What ExampleGens that read files have in common."""

    SPEC_CLASS = FileBasedExampleGenSpec
    BASE_TYPE = "PROCESS"

    def external_files(self, parameters: dict[str, Any]) -> list[str]:
        """Every file that the input patterns match; none if that is an error, which `Do` tells."""
        from stoker.examples.files import matching_files

        given = json_format.Parse(parameters["input_config"], example_gen_pb2.Input())
        patterns = [_pattern(parameters["input_base"], split.pattern) for split in given.splits]
        with contextlib.suppress(BadData):
            return matching_files(patterns)
        return []


class CsvExampleGen(_FileBasedExampleGen):
    """CSV files with a header, split 2:1 into train and eval unless told otherwise."""

    EXECUTOR_SPEC = ExecutorClassSpec("stoker.components.example_gen:CsvExecutor")
    TYPE_NAME = "tfx.components.example_gen.csv_example_gen.component.CsvExampleGen"
    PRELOAD = ("stoker.examples.csv", "stoker.examples.encode", "stoker.examples.tfrecord")

    def __init__(
        self,
        input_base: str | RuntimeParameter | None = None,
        input_config: InputConfig = None,
        output_config: OutputConfig = None,
        range_config: RangeConfig = None,
        *,
        input: Channel | str | None = None,
        instance_name: str | None = None,
    ) -> None:
        _refuse_range(range_config)
        spec = _spec(_base(input_base, input), input_config, output_config)
        super().__init__(spec, instance_name=instance_name)


class ImportExampleGen(_FileBasedExampleGen):
    """TFRecords of tf.Examples, gzip or plain, split like those of CsvExampleGen."""

    EXECUTOR_SPEC = ExecutorClassSpec("stoker.components.example_gen:ImportExecutor")
    TYPE_NAME = "tfx.components.example_gen.import_example_gen.component.ImportExampleGen"
    PRELOAD = ("stoker.examples.tfrecord",)

    def __init__(
        self,
        input_base: str | RuntimeParameter | None = None,
        input_config: InputConfig = None,
        output_config: OutputConfig = None,
        range_config: RangeConfig = None,
        payload_format: int = example_gen_pb2.FORMAT_TF_EXAMPLE,
        *,
        input: Channel | str | None = None,
        instance_name: str | None = None,
    ) -> None:
        _refuse_range(range_config)
        if payload_format not in _READERS_OF_KEYS:
            known = [example_gen_pb2.PayloadFormat.Name(one) for one in _READERS_OF_KEYS]
            raise ValueError(
                f"ImportExampleGen: payload_format is one of {known}, got {payload_format!r}."
            )
        spec = _spec(_base(input_base, input), input_config, output_config, payload_format)
        super().__init__(spec, instance_name=instance_name)


def _refuse_range(range_config: RangeConfig) -> None:
    if range_config is not None:
        raise ValueError(
            "range_config is not supported yet: this version reads one span. "
            "Name the files of the span in input_config instead."
        )


def _base(
    input_base: str | RuntimeParameter | None, source: Channel | str | None
) -> str | RuntimeParameter:
    """The folder to read, however an edition of TFX spelled it."""
    if (input_base is None) == (source is None):
        raise ValueError("An ExampleGen needs `input_base`: the folder that holds its files.")
    if input_base is not None:
        return input_base
    if isinstance(source, str):
        return source
    assert source is not None
    uris = [artifact.uri for artifact in source.get()]
    if len(uris) != 1:
        raise ValueError(
            f"input= takes what external_input(path) gives: one artifact, got {len(uris)}. "
            "Use input_base=path."
        )
    return uris[0]


def _spec(
    input_base: str | RuntimeParameter,
    input_config: InputConfig,
    output_config: OutputConfig,
    payload_format: int = example_gen_pb2.FORMAT_TF_EXAMPLE,
) -> FileBasedExampleGenSpec:
    if input_config is None:
        input_config = example_gen_pb2.Input()
        input_config.splits.add(name="single_split", pattern="*")
    if output_config is None:
        output_config = _default_output(input_config)
    if isinstance(input_config, example_gen_pb2.Input) and isinstance(
        output_config, example_gen_pb2.Output
    ):
        output_split_names(input_config, output_config)
    return FileBasedExampleGenSpec(
        input_base=input_base,
        input_config=input_config,
        output_config=output_config,
        output_data_format=payload_format,
        output_file_format=example_gen_pb2.FORMAT_TFRECORDS_GZIP,
    )


def _default_output(
    input_config: example_gen_pb2.Input | dict[str, Any] | RuntimeParameter,
) -> example_gen_pb2.Output:
    """Two parts train and one part eval, unless the input is split already."""
    if isinstance(input_config, RuntimeParameter):
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
        if any(word in split.pattern for word in _SPAN_WORDS):
            raise ValueError(
                f"The pattern {split.pattern!r} asks for spans or versions, which are not "
                "supported yet. Name the files of one span, such as 'span-3/*'."
            )
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
    return names


class _FileExecutor(BaseExecutor, abc.ABC):
    """Reads the files of each input split and writes the output splits."""

    @abc.abstractmethod
    def read(self, files: list[str], key_feature: str, payload_format: int) -> Iterator[Keyed]:
        """Records with their keys; the key is the whole example if `key_feature` is empty."""

    def Do(
        self,
        input_dict: dict[str, list[Artifact]],  # noqa: ARG002
        output_dict: dict[str, list[Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        from stoker.examples.files import fingerprint, matching_files

        given = json_format.Parse(exec_properties["input_config"], example_gen_pb2.Input())
        wanted = json_format.Parse(exec_properties["output_config"], example_gen_pb2.Output())
        payload_format = exec_properties.get("output_data_format", 0)
        payload_format = payload_format or example_gen_pb2.FORMAT_TF_EXAMPLE
        (examples,) = output_dict["examples"]
        assert isinstance(examples, Examples)
        examples.splits = output_split_names(given, wanted)
        prints = []
        for split in given.splits:
            files = matching_files(_pattern(exec_properties["input_base"], split.pattern))
            prints.append(fingerprint(split.name, files))
            key_feature = wanted.split_config.partition_feature_name
            keyed = self.read(files, key_feature, payload_format)
            parts = wanted.split_config.splits
            names = [part.name for part in parts] or [split.name]
            _write(keyed, [examples.path(split=name) for name in names], parts)
        examples.span = 0
        examples.version = 0
        examples.set_string_custom_property("input_fingerprint", "\n".join(prints))
        examples.set_string_custom_property("file_format", "tfrecords_gzip")
        examples.set_string_custom_property(
            "payload_format", example_gen_pb2.PayloadFormat.Name(payload_format)
        )


class CsvExecutor(_FileExecutor):
    """CSV rows to tf.Examples."""

    def read(self, files: list[str], key_feature: str, payload_format: int) -> Iterator[Keyed]:  # noqa: ARG002, D102
        from stoker.examples.csv import read_csv
        from stoker.examples.encode import encode, encode_feature

        for batch in read_csv(files):
            records = encode(batch).to_pylist()
            if not key_feature:
                yield records, records
                continue
            if key_feature not in batch.schema.names:
                raise _no_key(files[0], key_feature, f"the columns are {batch.schema.names}")
            column = batch.column(key_feature)
            if column.type.num_fields == 0 or str(column.type.value_type) == "float":
                raise _no_key(files[0], key_feature, "it holds neither integers nor text")
            yield records, encode_feature(column).to_pylist()


class ImportExecutor(_FileExecutor):
    """Records as they are, checked to be what they should be."""

    def read(self, files: list[str], key_feature: str, payload_format: int) -> Iterator[Keyed]:  # noqa: D102
        from google.protobuf.message import DecodeError

        from stoker.examples.tfrecord import read_records

        key_of = _READERS_OF_KEYS[payload_format]
        for path in files:
            for number, record in enumerate(read_records(path)):
                try:
                    key = key_of(record, key_feature)
                except DecodeError as error:
                    raise BadData(
                        f"{path}, record {number}: this is not a tf.Example: {error}."
                    ) from error
                except KeyError as error:
                    raise _no_key(path, key_feature, f"record {number} {error.args[0]}") from None
                yield [record], [key]


def _key_of_example(record: bytes, key_feature: str) -> bytes:
    """The example, or one feature of it, in protobuf's deterministic serialization."""
    from stoker.proto.example_pb2 import Example

    example = Example.FromString(record)
    if not key_feature:
        return bytes(example.SerializeToString(deterministic=True))
    if key_feature not in example.features.feature:
        raise KeyError("does not have it")
    feature = example.features.feature[key_feature]
    if feature.WhichOneof("kind") not in ("bytes_list", "int64_list"):
        raise KeyError("holds neither integers nor bytes in it")
    return bytes(feature.SerializeToString(deterministic=True))


def _key_of_bytes(record: bytes, key_feature: str) -> bytes:
    if key_feature:
        raise KeyError("is not a tf.Example")
    return record


_READERS_OF_KEYS: dict[int, Callable[[bytes, str], bytes]] = {
    example_gen_pb2.FORMAT_TF_EXAMPLE: _key_of_example,
    example_gen_pb2.FORMAT_PROTO: _key_of_bytes,
}


def _no_key(path: str, feature: str, why: str) -> BadData:
    return BadData(f"{path} cannot be split by the feature {feature!r}: {why}.")


def _pattern(input_base: str, pattern: str) -> str:
    """The pattern below the base; the base may also be a file or a glob by itself."""
    if pattern == "*" and not os.path.isdir(input_base):
        return input_base
    return os.path.join(input_base, pattern)


def _write(
    keyed: Iterator[Keyed],
    split_dirs: list[str],
    parts: Sequence[example_gen_pb2.SplitConfig.Split],
) -> None:
    """Send every record to the split that its key falls into, or to the only one."""
    from stoker.examples.split import split_indices
    from stoker.examples.tfrecord import SHARD_NAME, RecordWriter

    buckets = [part.hash_buckets for part in parts] or [1]
    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(RecordWriter(os.path.join(split_dir, SHARD_NAME)))
            for split_dir in split_dirs
        ]
        for records, keys in keyed:
            for record, index in zip(records, split_indices(keys, buckets), strict=True):
                writers[index].write(record)
