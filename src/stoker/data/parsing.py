# SPDX-License-Identifier: Apache-2.0
"""How a schema says that examples become tensors, as tfx_bsl's TFExampleRecord reads it."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.python.util import deprecation
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.any_python.lines import did_you_mean
from stoker.data.decode import decode
from stoker.data.representations import find_representations, parser_config, value_column
from stoker.data.tfrecord import read_records
from stoker.errors import BadData
from stoker.statistics.compute import compute_statistics
from stoker.statistics.data_schema import infer_schema

_ROWS_TO_INFER_FROM = 1000

Tensors = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Parsing:
    """What parse_example is told, and what is made of its answer."""

    features: dict[str, Any]
    names: dict[str, str]
    """The name of the tensor that each feature becomes."""
    label_key: str | None

    def arrange(self, parsed: Tensors) -> Tensors | tuple[Tensors, Any]:
        """Tensors by name, or a pair of those and the label."""
        tensors = {self.names[key]: tensor for key, tensor in parsed.items()}
        label_key = self.label_key
        return tensors if label_key is None else (tensors, tensors.pop(label_key))

    def dataset(
        self, records: tf.data.Dataset, *, num_threads: int, sloppy: bool
    ) -> tf.data.Dataset:
        """Batches of serialized examples as tensors, each batch parsed by one op."""
        # Unlike tf.io.parse_example in a map, which TensorFlow would have us use, this keeps the
        # static batch size of sparse tensors.
        with deprecation.silence():
            parse = tf.data.experimental.parse_example_dataset(
                self.features, num_parallel_calls=num_threads, deterministic=not sloppy
            )
        return records.apply(parse).map(self.arrange)

    def element_spec(self, batch_size: int | None) -> Any:
        """What a batch is; the batch size is None if the last one may be smaller."""
        records = tf.data.Dataset.from_tensor_slices(tf.constant([], tf.string))
        batches = records.batch(batch_size or 1, drop_remainder=batch_size is not None)
        return self.dataset(batches, num_threads=1, sloppy=False).element_spec


def make_parsing(schema: schema_pb2.Schema, label_key: str | None) -> Parsing:
    """What the schema says, with or without tensor representations in it."""
    types = {feature.name: feature.type for feature in schema.feature}
    features: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, tensor in find_representations(schema).items():
        column = value_column(tensor)
        feature = parser_config(tensor, types[column])
        # Features of several columns name those themselves; their own key is free.
        several = isinstance(feature, tf.io.SparseFeature | tf.io.RaggedFeature)
        key = f"tensor {name} of {column}" if several else column
        if key in features:
            raise ValueError(
                f"The schema makes two tensors, {names[key]!r} and {name!r}, of {column!r}."
                " Leave one of them out."
            )
        features[key], names[key] = feature, name
    if label_key is not None and label_key not in names.values():
        known = sorted(names.values())
        hint = did_you_mean(label_key, known)
        raise ValueError(f"label_key {label_key!r} is not in the schema: {known}.{hint}")
    return Parsing(features, names, label_key)


def infer_schema_of_files(files: Sequence[str]) -> schema_pb2.Schema:
    """The schema that the first records follow."""
    records = itertools.chain.from_iterable(map(read_records, files))
    batches = list(
        decode(itertools.islice(records, _ROWS_TO_INFER_FROM), batch_rows=_ROWS_TO_INFER_FROM)
    )
    if not batches:
        raise BadData(f"{', '.join(files)}: no record to infer a schema from. Give a schema.")
    schema = infer_schema(compute_statistics(batches))
    if empty := [feature.name for feature in schema.feature if not feature.presence.min_count]:
        raise BadData(
            f"{files[0]}: the first {_ROWS_TO_INFER_FROM} records do not show the type of "
            f"{empty[0]!r}. Give a schema."
        )
    return schema
