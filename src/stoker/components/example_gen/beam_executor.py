# SPDX-License-Identifier: Apache-2.0
"""The executor of ExampleGens that read with Apache Beam: users say how, by a PTransform.

class Executor(BaseExampleGenExecutor):
    def GetInputSourceToExamplePTransform(self):
        return ReadLines

@beam.ptransform_fn
def ReadLines(pipeline, exec_properties, split_pattern):
    lines = os.path.join(exec_properties["input_base"], split_pattern)
    return pipeline | beam.io.ReadFromText(lines) | beam.Map(make_example)

Records keep the order in which they are read: the same input makes the same files.
"""

import bisect
import hashlib
import inspect
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.protobuf.message import DecodeError, Message

from stoker import dsl
from stoker.artifacts import Examples, ExternalArtifact
from stoker.components.example_gen.configs import name_output_splits, parse_configs
from stoker.dsl.proto import example_gen_pb2
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import BadData

INPUT_KEY = "input"
FILE_NAME = "data_tfrecord"


class BaseExampleGenExecutor(dsl.BaseBeamExecutor):
    """Reads the splits of an input with Beam, divides them, and writes the examples."""

    def GetInputSourceToExamplePTransform(self) -> Callable[..., Any]:
        """What makes a PTransform of `(exec_properties, split_pattern)`.

        It gives tf.Examples, other messages, or serialized ones as bytes.
        """
        raise NotImplementedError(
            f"{type(self).__name__} says nowhere how it reads: define "
            "GetInputSourceToExamplePTransform, or GenerateExamplesByBeam, in it."
        )

    def GenerateExamplesByBeam(
        self, pipeline: Any, exec_properties: dict[str, Any]
    ) -> dict[str, Any]:
        """The PCollection of each output split."""
        import apache_beam as beam

        given, wanted = parse_configs(exec_properties)
        names = name_output_splits(given, wanted)
        exec_properties["_beam_pipeline_args"] = self._beam_pipeline_args
        read = self.GetInputSourceToExamplePTransform()
        found = [
            pipeline
            | f"InputToRecord[{split.name}]"
            >> _call_with_inputs(read, exec_properties, split.pattern)
            for split in given.splits
        ]
        hashed = wanted.split_config
        if hashed.splits:
            (records,) = found
            ends = list(itertools.accumulate(split.hash_buckets for split in hashed.splits))
            found = records | "SplitData" >> beam.Partition(choose_split, len(ends), ends, hashed)
        return dict(zip(names, found, strict=True))

    def Do(
        self,
        input_dict: dsl.Artifacts,  # noqa: ARG002
        output_dict: dsl.Artifacts,
        exec_properties: dict[str, Any],
    ) -> None:
        """Generate examples."""
        (examples,) = output_dict["examples"]
        assert isinstance(examples, Examples)
        with self._make_beam_pipeline() as pipeline:
            generate = self.GenerateExamplesByBeam
            found = _call_with_inputs(generate, exec_properties, before=(pipeline,))
            examples.splits = list(found)
            for name, records in found.items():
                _ = records | f"WriteSplit[{name}]" >> write_split(examples.path(split=name))
        describe_records(examples, exec_properties)


def describe_records(examples: Examples, exec_properties: Mapping[str, Any]) -> None:
    """Say of examples what their records and files are."""
    payload = exec_properties.get("output_data_format") or example_gen_pb2.FORMAT_TF_EXAMPLE
    examples.set_string_custom_property("file_format", "tfrecords_gzip")
    examples.set_string_custom_property(
        "payload_format", example_gen_pb2.PayloadFormat.Name(payload)
    )


def write_split(output_split_path: str, *_: Any, **__: Any) -> Any:
    """A PTransform that writes records to the files of a split; TFX's has more arguments."""
    import apache_beam as beam

    prefix = os.path.join(output_split_path, FILE_NAME)
    writing = beam.io.WriteToTFRecord(prefix, file_name_suffix=".gz")
    return "Serialize" >> beam.Map(_serialize) | "Write" >> writing


def _serialize(record: Any) -> bytes:
    if isinstance(record, Message):
        return bytes(record.SerializeToString(deterministic=True))
    if isinstance(record, bytes):
        return record
    raise TypeError(
        f"An ExampleGen gave {type(record).__name__}: {record!r:.200}. Give a tf.train.Example or "
        "its bytes: `beam.Map(dict_to_example)` makes one of a dict."
    )


def choose_split(
    record: Any, num_partitions: int, buckets: Sequence[int], split_config: Any
) -> int:
    """The index of a record's split, by TFX's rule; `buckets` are where the shares end."""
    assert num_partitions == len(buckets)
    number = int.from_bytes(hashlib.sha256(make_partition_key(record, split_config)).digest())
    return bisect.bisect(buckets, number % buckets[-1])


def make_partition_key(record: Any, split_config: Any) -> bytes:
    """What decides the split of a record: all of it, or one feature."""
    name = split_config.partition_feature_name
    if not name:
        return _serialize(record)
    features = _find_features(record)
    if name not in features:
        raise BadData(
            f"partition_feature_name is {name!r}, which an example does not have."
            " Name one that all examples have."
        )
    feature = features[name]
    if feature.WhichOneof("kind") not in ("bytes_list", "int64_list"):
        raise BadData(
            f"partition_feature_name is {name!r}: an example has no integers or bytes."
            " Name another feature."
        )
    return bytes(feature.SerializeToString(deterministic=True))


def _find_features(record: Any) -> Mapping[str, Any]:
    """The features of an example, or the context of a SequenceExample."""
    if isinstance(record, bytes):
        try:
            record = Example.FromString(record)
        except DecodeError as error:
            raise BadData(f"partition_feature_name needs tf.Examples: {error}.") from error
    holder = record.context if hasattr(record, "context") else record.features
    features: Mapping[str, Any] = holder.feature
    return features


def _call_with_inputs(
    function: Callable[..., Any],
    exec_properties: dict[str, Any],
    *after: Any,
    before: tuple[Any, ...] = (),
) -> Any:
    """Call what until TFX 0.22 took the folder to read as an artifact, and since then does not."""
    if "input_dict" not in inspect.signature(function).parameters:
        return function(*before, exec_properties, *after)
    folder = ExternalArtifact()
    folder.uri = exec_properties.get("input_base", "")
    return function(*before, {INPUT_KEY: [folder]}, exec_properties, *after)
