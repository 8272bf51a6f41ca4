# SPDX-License-Identifier: Apache-2.0
"""Files of tf.Examples to a tf.data.Dataset or to record batches: what `data_accessor` calls.

Values, types, shapes and kinds are those of tfx_bsl's TFExampleRecord for the same options. The
difference is speed: records are batched first, and a batch is parsed by one op.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import tensorflow as tf
from tensorflow.python.util import deprecation
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx_bsl.coders import example_coder
from tfx_bsl.tfxio import tensor_representation_util as representations
from tfx_bsl.tfxio.dataset_options import RecordBatchesOptions, TensorFlowDatasetOptions

from stoker.errors import BadData
from stoker.examples.decode import decode
from stoker.examples.files import matching_files
from stoker.examples.schema import infer_schema
from stoker.examples.statistics import compute_statistics
from stoker.examples.tfrecord import is_gzip, num_examples, read_records

__all__ = ["num_examples", "record_batch_factory", "tf_dataset_factory"]

_ROWS_TO_INFER_FROM = 1000

Tensors = dict[str, Any]


def tf_dataset_factory(
    file_patterns: str | list[str],
    options: TensorFlowDatasetOptions,
    schema: schema_pb2.Schema | None = None,
) -> tf.data.Dataset:
    """Batches of tensors by name, or pairs of those and the label if `options.label_key` is set.

    Without a schema, one is inferred from the first records.
    """
    files = matching_files(file_patterns)
    spec, names = _parsing_spec(schema or _inferred_schema(files))
    label_key = options.label_key
    if label_key is not None and label_key not in names.values():
        raise ValueError(f"label_key {label_key!r} is not in the schema: {sorted(names.values())}.")

    def arranged(parsed: Tensors) -> Tensors | tuple[Tensors, Any]:
        tensors = {names[key]: tensor for key, tensor in parsed.items()}
        return tensors if label_key is None else (tensors, tensors.pop(label_key))

    sloppy = options.sloppy_ordering
    # Unlike tf.io.parse_example in a map, which TensorFlow would have us use, this keeps the static
    # batch size of sparse tensors.
    with deprecation.silence():
        parse = tf.data.experimental.parse_example_dataset(
            spec, num_parallel_calls=options.parser_num_threads, deterministic=not sloppy
        )
    dataset = _batched_records(files, options, options.reader_num_threads, sloppy).apply(parse)
    return dataset.map(arranged).prefetch(options.prefetch_buffer_size)


def record_batch_factory(
    file_patterns: str | list[str],
    options: RecordBatchesOptions,
    schema: schema_pb2.Schema | None = None,
) -> Iterator[pa.RecordBatch]:
    """Arrow record batches with the columns of the schema, or with those that are found."""
    files = matching_files(file_patterns)
    decoder = example_coder.ExamplesToRecordBatchDecoder(schema and schema.SerializeToString())
    dataset = _batched_records(files, options, tf.data.AUTOTUNE, sloppy=False)
    return (decoder.DecodeBatch(records) for records in dataset.as_numpy_iterator())


def _batched_records(
    files: list[str],
    options: TensorFlowDatasetOptions | RecordBatchesOptions,
    num_readers: int,
    sloppy: bool,
) -> tf.data.Dataset:
    """Batches of serialized examples, in the order that tfx_bsl gives for the same options."""
    compression = ["GZIP" if is_gzip(path) else "" for path in files]
    if len(files) == 1:  # to interleave one file changes nothing and costs more than reading it
        dataset = tf.data.TFRecordDataset(files, compression[0])
    else:
        dataset = tf.data.Dataset.from_tensor_slices((files, compression))
        if options.shuffle:
            dataset = dataset.shuffle(len(files), options.shuffle_seed)
        dataset = dataset.interleave(
            tf.data.TFRecordDataset, num_parallel_calls=num_readers, deterministic=not sloppy
        )
    if options.shuffle:
        dataset = dataset.shuffle(options.shuffle_buffer_size, options.shuffle_seed)
    if options.num_epochs != 1:
        dataset = dataset.repeat(options.num_epochs)
    drop = options.drop_final_batch or options.num_epochs is None
    return dataset.batch(options.batch_size, drop_remainder=drop)


def _parsing_spec(schema: schema_pb2.Schema) -> tuple[dict[str, Any], dict[str, str]]:
    """How to parse an example, and which tensor each parsed feature is."""
    types = {feature.name: feature.type for feature in schema.feature}
    spec: dict[str, Any] = {}
    names: dict[str, str] = {}
    tensors = representations.InferTensorRepresentationsFromMixedSchema(schema)
    for name, tensor in tensors.items():
        column = representations.GetSourceValueColumnFromTensorRepresentation(tensor)
        value_column = column.initial_step()
        feature = representations.CreateTfExampleParserConfig(tensor, types[value_column])
        # Features of several columns name those themselves; their own key is free.
        several = isinstance(feature, tf.io.SparseFeature | tf.io.RaggedFeature)
        key = f"tensor {name} of {value_column}" if several else value_column
        if key in spec:
            raise ValueError(
                f"The schema makes two tensors, {names[key]!r} and {name!r}, of {value_column!r}."
            )
        spec[key], names[key] = feature, name
    return spec, names


def _inferred_schema(files: list[str]) -> schema_pb2.Schema:
    records = itertools.chain.from_iterable(map(read_records, files))
    batches = list(
        decode(itertools.islice(records, _ROWS_TO_INFER_FROM), batch_rows=_ROWS_TO_INFER_FROM)
    )
    if not batches:
        raise BadData(f"{', '.join(files)}: no record to infer a schema from. Give a schema.")
    schema = infer_schema(compute_statistics(pa.Table.from_batches(batches)))
    if empty := [feature.name for feature in schema.feature if not feature.presence.min_count]:
        raise BadData(
            f"{files[0]}: the first {_ROWS_TO_INFER_FROM} records do not show the type of "
            f"{empty[0]!r}. Give a schema."
        )
    return schema
