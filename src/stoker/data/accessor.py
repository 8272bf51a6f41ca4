# SPDX-License-Identifier: Apache-2.0
"""Files of tf.Examples to a tf.data.Dataset or to record batches: what `data_accessor` calls.

Values, types, shapes and kinds are those of tfx_bsl's TFExampleRecord for the same options, and so
is the order, unless it is shuffled. Where the files have columns, those are read:

    columns ─▶ row_order: which rows come next ─▶ gather: their values ─▶ tensors: batches

A shuffle is then over all rows, and new in every epoch and in every pass. Where they have none,
records are batched, a batch is parsed by one op, and the columns are made for the next time.
"""

import functools
from collections.abc import Iterator
from typing import TypeAlias

import pyarrow as pa
import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.any_python.dataset import RecordBatchesOptions, TensorFlowDatasetOptions
from stoker.any_python.surroundings import cluster, fresh_seed
from stoker.data.background_columns import columns_for
from stoker.data.batch_iterator import BatchDataset, has_parts
from stoker.data.columns import Columns, num_examples
from stoker.data.decode import arrow_schema, decode_batch
from stoker.data.gather import RowReader
from stoker.data.input_files import matching_files
from stoker.data.parsing import Parsing, infer_schema_of_files, make_parsing
from stoker.data.row_batches import has_types, read_batches_of_rows
from stoker.data.row_order import (
    Passes,
    Position,
    RowOrder,
    interleave_rows,
    mark_as_from_accessor,
)
from stoker.data.tensors import Batches, can_read, parse_batches
from stoker.data.tfrecord import is_gzip

_Options: TypeAlias = TensorFlowDatasetOptions | RecordBatchesOptions


def tf_dataset_factory(
    file_patterns: str | list[str],
    options: TensorFlowDatasetOptions,
    schema: schema_pb2.Schema | None = None,
    *,
    cache_dir: str | None = None,
    start_at: Position | None = None,
) -> tf.data.Dataset:
    """Batches of tensors by name, or pairs of those and the label if `options.label_key` is set.

    Without a schema, one is inferred from the first records. `start_at` goes on where reading
    stopped, with its seed. Under a strategy every worker gets its share of the batches.
    """
    files = matching_files(file_patterns)
    parsing = make_parsing(schema or infer_schema_of_files(files), options.label_key)
    start = start_at or Position(seed=_seed(options))
    # A parameter server's workers are told what to read by another process, and cannot call its
    # Python.
    columns = None if "ps" in cluster() else columns_for(files, cache_dir)
    passes, rows = Passes(), None
    if columns is not None and can_read(parsing.features, columns.schema):
        batches, order = _batches(columns, options, start), _order(columns, options, start.seed)
        dataset = parse_batches(
            RowReader(columns),
            order,
            parsing,
            batches,
            num_parallel_calls=options.parser_num_threads,
            passes=passes if options.shuffle else None,
        )
        rows = functools.partial(batches.rows_of, order, shifts=options.shuffle)
    else:
        dataset = _read_from_records(files, parsing, options, start)
    dataset = dataset.prefetch(options.prefetch_buffer_size).with_options(_share_by_batches())
    if has_parts(dataset.element_spec):
        dataset = BatchDataset(dataset)
    return mark_as_from_accessor(dataset, passes, rows)


def record_batch_factory(
    file_patterns: str | list[str],
    options: RecordBatchesOptions,
    schema: schema_pb2.Schema | None = None,
    *,
    cache_dir: str | None = None,
) -> Iterator[pa.RecordBatch]:
    """Arrow record batches with the columns of the schema, or with those that are found."""
    files = matching_files(file_patterns)
    seed = _seed(options)
    columns = columns_for(files, cache_dir)
    wanted = arrow_schema(schema) if schema else columns and columns.schema
    if columns is not None and has_types(columns, wanted):
        order = _order(columns, options, seed)
        return read_batches_of_rows(columns, order, wanted, options)
    dataset = _batch_records(files, options, seed, tf.data.AUTOTUNE, sloppy=False)
    return (decode_batch(records.tolist(), schema) for records in dataset.as_numpy_iterator())


def _seed(options: _Options) -> int | None:
    """What the order depends on; None if rows are not shuffled."""
    if not options.shuffle:
        return None
    return fresh_seed() if options.shuffle_seed is None else options.shuffle_seed


def _batches(columns: Columns, options: TensorFlowDatasetOptions, start: Position) -> Batches:
    endless = options.num_epochs is None and columns.num_rows > 0
    return Batches(
        batch_size=options.batch_size,
        start=start.epoch * columns.num_rows + start.row,
        stop=None if endless else columns.num_rows * (options.num_epochs or 0),
        drop_remainder=_drops_remainder(options),
        bytes_per_row=columns.num_bytes // max(1, columns.num_rows),
    )


def _drops_remainder(options: _Options) -> bool:
    return bool(options.drop_final_batch or options.num_epochs is None)


def _order(columns: Columns, options: _Options, seed: int | None) -> RowOrder:
    if seed is not None or len(columns.files) == 1:
        return RowOrder(columns.num_rows, seed=seed)
    readers = getattr(options, "reader_num_threads", tf.data.AUTOTUNE)
    sizes = [file.num_rows for file in columns.files]
    cycle_length = _cycle_length(len(sizes), readers)
    return RowOrder(columns.num_rows, in_order=interleave_rows(sizes, cycle_length))


def _cycle_length(num_files: int, num_readers: int) -> int:
    """How many files TensorFlow reads in turn, which depends on the machine: it is tried out."""

    def two_records(file: tf.Tensor) -> tf.data.Dataset:
        return tf.data.Dataset.from_tensors(file).repeat(2)

    with tf.init_scope():
        files = tf.data.Dataset.range(num_files).interleave(
            two_records, num_parallel_calls=num_readers, deterministic=True
        )
        seen: set[int] = set()
        for file in files.as_numpy_iterator():
            if int(file) in seen:
                break
            seen.add(int(file))
    return len(seen)


def _read_from_records(
    files: list[str], parsing: Parsing, options: TensorFlowDatasetOptions, start: Position
) -> tf.data.Dataset:
    sloppy, readers = options.sloppy_ordering, options.reader_num_threads
    records = _batch_records(files, options, start.seed, readers, sloppy)
    if start.epoch or start.row:
        rows = start.epoch * num_examples(files) + start.row
        records = records.skip(rows // options.batch_size)
    return parsing.dataset(records, num_threads=options.parser_num_threads, sloppy=sloppy)


def _batch_records(
    files: list[str], options: _Options, seed: int | None, num_readers: int, sloppy: bool
) -> tf.data.Dataset:
    """Batches of serialized examples, in the order that tfx_bsl gives for the same options."""
    compression = ["GZIP" if is_gzip(path) else "" for path in files]
    if len(files) == 1:  # to interleave one file changes nothing and costs more than reading it
        dataset = tf.data.TFRecordDataset(files, compression[0])
    else:
        dataset = tf.data.Dataset.from_tensor_slices((files, compression))
        if options.shuffle:
            dataset = dataset.shuffle(len(files), seed)
        dataset = dataset.interleave(
            tf.data.TFRecordDataset, num_parallel_calls=num_readers, deterministic=not sloppy
        )
    if options.shuffle:
        dataset = dataset.shuffle(options.shuffle_buffer_size, seed)
    if options.num_epochs != 1:
        dataset = dataset.repeat(options.num_epochs)
    return dataset.batch(options.batch_size, drop_remainder=_drops_remainder(options))


def _share_by_batches() -> tf.data.Options:
    """Under a strategy of several processes each takes every n-th batch, not every n-th file."""
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return options
