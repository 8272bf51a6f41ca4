# SPDX-License-Identifier: Apache-2.0
"""Files of tf.Examples to a tf.data.Dataset, on whichever TensorFlow is there.

Values, types and shapes are those of tfx_bsl's TFExampleRecord; records are batched first, and a
batch is parsed by one op.
"""

from __future__ import annotations

import glob
from typing import Any, Iterable, Iterator, NamedTuple

from .lines import did_you_mean

AUTOTUNE = -1  # tf.data's own number for it
_GZIP_MAGIC = b"\x1f\x8b"


class TensorFlowDatasetOptions(NamedTuple):
    """tfx_bsl's options of the same name, for interpreters without tfx_bsl."""

    batch_size: int
    drop_final_batch: bool = False
    num_epochs: int | None = None
    shuffle: bool = True
    shuffle_buffer_size: int = 10000
    shuffle_seed: int | None = None
    prefetch_buffer_size: int = AUTOTUNE
    reader_num_threads: int = AUTOTUNE
    parser_num_threads: int = AUTOTUNE
    sloppy_ordering: bool = False
    label_key: str | None = None


class RecordBatchesOptions(NamedTuple):
    """tfx_bsl's options of the same name, for interpreters without tfx_bsl."""

    batch_size: int
    drop_final_batch: bool = False
    num_epochs: int | None = None
    shuffle: bool = True
    shuffle_buffer_size: int = 10000
    shuffle_seed: int | None = None


def tf_dataset_factory(file_pattern: Any, options: Any, schema: Any = None) -> Any:
    """Batches of tensors by name, or pairs of those and the label if `options.label_key` is set."""
    import tensorflow as tf

    if schema is None:
        raise ValueError(
            "data_accessor.tf_dataset_factory needs a schema in another interpreter: parse "
            "fn_args.schema_path, and give it as the third argument."
        )
    spec = feature_spec(schema)
    label_key = options.label_key
    if label_key is not None and label_key not in spec:
        hint = did_you_mean(label_key, spec)
        raise ValueError(f"label_key {label_key!r} is not in the schema: {sorted(spec)}.{hint}")

    def parse(records: Any) -> Any:
        tensors = tf.io.parse_example(records, spec)
        return tensors if label_key is None else (tensors, tensors.pop(label_key))

    dataset = _read_batches(file_pattern, options).map(
        parse, num_parallel_calls=options.parser_num_threads
    )
    return dataset.prefetch(options.prefetch_buffer_size)


def record_batch_factory(file_pattern: Any, options: Any, schema: Any = None) -> Iterator[Any]:
    """Arrow record batches with the columns of the schema, or with those that are found."""
    import tensorflow as tf

    try:
        from tfx_bsl.coders import example_coder
    except ImportError as error:
        raise ValueError(
            "data_accessor.record_batch_factory needs tfx-bsl. Install it in that interpreter, or "
            "read the examples with data_accessor.tf_dataset_factory."
        ) from error
    decoder = example_coder.ExamplesToRecordBatchDecoder(schema and schema.SerializeToString())
    batches = _read_batches(file_pattern, options)
    if tf.executing_eagerly():
        return (decoder.DecodeBatch(list(batch.numpy())) for batch in batches)
    return (decoder.DecodeBatch(list(batch)) for batch in _read_in_a_session(batches))


def feature_spec(schema: Any) -> dict[str, Any]:
    """How tf.io.parse_example has to read examples of this schema."""
    try:
        from tensorflow_transform.tf_metadata import schema_utils
    except ImportError:
        return _make_feature_spec(schema)
    spec: dict[str, Any] = schema_utils.schema_as_feature_spec(schema).feature_spec
    return spec


def _make_feature_spec(schema: Any) -> dict[str, Any]:
    """Dense tensors of features with a shape that are always there, sparse ones of the others."""
    import tensorflow as tf

    special = [one.name for one in schema.sparse_feature] + list(schema.tensor_representation_group)
    if special:
        raise ValueError(
            f"The schema has sparse features or tensor representations ({', '.join(special)}), "
            "which only tensorflow-transform can read here. Install it in that interpreter."
        )
    dtypes = {1: tf.string, 2: tf.int64, 3: tf.float32}  # FeatureType of the schema
    spec = {}
    for feature in schema.feature:
        dtype = dtypes[feature.type]
        if feature.HasField("shape") and feature.presence.min_fraction == 1:
            shape = [dimension.size for dimension in feature.shape.dim]
            spec[feature.name] = tf.io.FixedLenFeature(shape, dtype)
        else:
            spec[feature.name] = tf.io.VarLenFeature(dtype)
    return spec


def _read_batches(file_pattern: Any, options: Any) -> Any:
    """Batches of serialized examples."""
    import tensorflow as tf

    files = _find_files(file_pattern)
    compression = ["GZIP" if _is_gzip(path) else "" for path in files]
    dataset = tf.data.Dataset.from_tensor_slices((files, compression))
    if options.shuffle:
        dataset = dataset.shuffle(len(files), options.shuffle_seed)
    dataset = dataset.flat_map(tf.data.TFRecordDataset)
    if options.shuffle:
        dataset = dataset.shuffle(options.shuffle_buffer_size, options.shuffle_seed)
    if options.num_epochs != 1:
        dataset = dataset.repeat(options.num_epochs)
    drop = options.drop_final_batch or options.num_epochs is None
    return dataset.batch(options.batch_size, drop_remainder=drop)


def _find_files(file_pattern: Any) -> list[str]:
    patterns: Iterable[str] = [file_pattern] if isinstance(file_pattern, str) else file_pattern
    found = sorted({path for pattern in patterns for path in glob.glob(pattern)})
    if not found:
        raise ValueError(f"No file matches {file_pattern}. Check the path and the pattern.")
    return found


def _is_gzip(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC


def _read_in_a_session(dataset: Any) -> Iterator[Any]:
    """The elements of a dataset where TensorFlow does not run eagerly."""
    import tensorflow as tf

    upcoming = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
    with tf.compat.v1.Session() as session:
        while True:
            try:
                element = session.run(upcoming)
            except tf.errors.OutOfRangeError:
                return
            yield element
