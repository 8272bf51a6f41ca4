# SPDX-License-Identifier: Apache-2.0
"""The DataAccessor's batches against tfxio's and against a plain tuned tf.data, on the same files.

Rows are made of 18 columns, numbers alone and with six columns of words, each value there. The
batches are read in a graph, as `fit` reads them, with a shuffle; each reader is timed from its
second epoch on, and `first epoch` is timed from a new dataset to the end of one epoch.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import measuring
import numpy as np
import pyarrow as pa
import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx_bsl.public.tfxio import TensorFlowDatasetOptions, TFExampleRecord

from stoker.data.accessor import tf_dataset_factory
from stoker.data.column_file import ColumnWriter
from stoker.data.encode import encode
from stoker.data.tfrecord import write_records

NUM_COLUMNS, NUM_SHARDS = 18, 8
BATCH_SIZES = (64, 256, 1024)
WORDS = (5, 100, 1000, 50_000, 20, 300)
"""How many different words the columns of words have."""
SECONDS = 2.0

Reader = Callable[[str, Any, schema_pb2.Schema], tf.data.Dataset]


def main(folder: str, rows: int) -> None:
    clock = measuring.Clock()
    for name, words in (("numbers", ()), ("with words", WORDS)):
        split = os.path.join(folder, "accessor", name.replace(" ", "-"), "Split-train")
        schema = _write(split, rows, words)
        for batch_size in BATCH_SIZES:
            _compare(name, os.path.join(split, "*"), schema, batch_size, rows)
        _compare_without_columns(name, split, schema, rows)
    wall, cpu = clock.since()
    print(json.dumps({"wall": wall, "cpu": cpu}))


def _compare(name: str, files: str, schema: schema_pb2.Schema, batch_size: int, rows: int) -> None:
    options = TensorFlowDatasetOptions(batch_size=batch_size)
    readers: dict[str, Reader] = {"tfxio": _tfxio, "plain": _plain, "ours": tf_dataset_factory}
    rates = {key: _rate(read(files, options, schema), batch_size) for key, read in readers.items()}
    first = {
        key: rows / _first_epoch(readers[key], files, options, schema) for key in ("plain", "ours")
    }
    _tell(name, batch_size, rates)
    print(
        f"{'':12} {'':5} first epoch: plain {first['plain'] / 1e3:6,.0f}k/s, "
        f"ours {first['ours'] / 1e3:6,.0f}k/s, {first['ours'] / first['plain']:.1f} times",
        flush=True,
    )


def _tell(name: str, batch_size: int, rates: dict[str, tuple[float, float]]) -> None:
    shown = ", ".join(f"{key} {wall / 1e3:6,.0f}k/s" for key, (wall, _) in rates.items())
    (wall, cpu), (their_wall, their_cpu) = rates["ours"], rates["tfxio"]
    print(
        f"{name:12} {batch_size:>5} {shown}: {wall / their_wall:.1f} times tfxio, "
        f"{cpu / their_cpu:.1f} times by CPU seconds",
        flush=True,
    )


def _compare_without_columns(name: str, split: str, schema: schema_pb2.Schema, rows: int) -> None:
    """The same records elsewhere, where nobody has made columns; a cache is filled meanwhile."""
    copy = f"{os.path.dirname(split)}-records"
    shutil.copytree(split, copy, dirs_exist_ok=True)
    options = TensorFlowDatasetOptions(batch_size=256)

    def ours(files: str, options: Any, schema: schema_pb2.Schema) -> tf.data.Dataset:
        return tf_dataset_factory(files, options, schema, cache_dir=os.path.join(copy, "cache"))

    files = os.path.join(copy, "*.gz")
    plain, first = (rows / _first_epoch(one, files, options, schema) for one in (_plain, ours))
    print(
        f"{name:12}   256 without columns, first epoch: plain {plain / 1e3:6,.0f}k/s, "
        f"ours {first / 1e3:6,.0f}k/s, {first / plain:.2f} times",
        flush=True,
    )


def _rate(dataset: tf.data.Dataset, batch_size: int) -> tuple[float, float]:
    """Examples per second, and per CPU second."""
    iterator = iter(dataset)
    _read(iterator, tf.constant(50))
    cpu, wall, num_batches = time.process_time(), time.perf_counter(), 0
    while time.perf_counter() - wall < SECONDS:
        _read(iterator, tf.constant(50))
        num_batches += 50
    num_rows = num_batches * batch_size
    return num_rows / (time.perf_counter() - wall), num_rows / (time.process_time() - cpu)


def _first_epoch(read: Reader, files: str, options: Any, schema: schema_pb2.Schema) -> float:
    start = time.perf_counter()
    dataset = read(files, options._replace(num_epochs=1), schema)
    dataset.reduce(np.int64(0), lambda count, _: count + 1).numpy()
    return time.perf_counter() - start


@tf.function  # type: ignore[untyped-decorator]
def _read(iterator: Iterator[Any], num_batches: tf.Tensor) -> None:
    for _ in tf.range(num_batches):
        next(iterator)


def _tfxio(files: str, options: Any, schema: schema_pb2.Schema) -> tf.data.Dataset:
    return TFExampleRecord(files, schema=schema).TensorFlowDataset(options)


def _plain(files: str, options: Any, schema: schema_pb2.Schema) -> tf.data.Dataset:
    """What the guides of tf.data advise: batches first, then one op that parses them."""
    types = {schema_pb2.INT: tf.int64, schema_pb2.FLOAT: tf.float32, schema_pb2.BYTES: tf.string}
    spec = {one.name: tf.io.FixedLenFeature([1], types[one.type]) for one in schema.feature}

    def parse(records: tf.Tensor) -> dict[str, tf.Tensor]:
        parsed: dict[str, tf.Tensor] = tf.io.parse_example(records, spec)
        return parsed

    def open_file(file: tf.Tensor) -> tf.data.Dataset:
        return tf.data.TFRecordDataset(file, "GZIP", buffer_size=8 << 20)

    dataset = tf.data.Dataset.list_files(files).interleave(
        open_file, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False
    )
    dataset = dataset.shuffle(options.shuffle_buffer_size).repeat(options.num_epochs)
    dataset = dataset.batch(options.batch_size).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset.prefetch(tf.data.AUTOTUNE)


def _write(split: str, rows: int, words: tuple[int, ...]) -> schema_pb2.Schema:
    """Shards with their columns, and the schema."""
    random = np.random.default_rng(0)
    for shard in range(NUM_SHARDS):
        path = os.path.join(split, f"data-{shard}.gz")
        batch = _batch(random, rows // NUM_SHARDS, words)
        with ColumnWriter(path) as writer:
            write_records(path, encode(batch).to_pylist())
            writer.write(batch)
    schema = schema_pb2.Schema()
    types = {"int64": schema_pb2.INT, "float": schema_pb2.FLOAT, "large_binary": schema_pb2.BYTES}
    for field in batch.schema:
        feature = schema.feature.add(name=field.name, type=types[str(field.type.value_type)])
        feature.presence.min_fraction = 1
        feature.shape.dim.add(size=1)
    return schema


def _batch(random: np.random.Generator, rows: int, words: tuple[int, ...]) -> pa.RecordBatch:
    columns: dict[str, pa.Array] = {}
    for number in range(NUM_COLUMNS - len(words)):
        odd = number % 2
        values = random.random(rows) if odd else random.integers(0, 1 << 20, rows)
        columns[f"number_{number}"] = pa.array(values, pa.float32() if odd else pa.int64())
    for number, size in enumerate(words):
        known = pa.array([b"word number %d" % i for i in range(size)], pa.large_binary())
        columns[f"word_{number}"] = known.take(pa.array(random.integers(0, size, rows)))
    ends = pa.array(np.arange(rows + 1))
    lists = [pa.LargeListArray.from_arrays(ends, column) for column in columns.values()]
    return pa.record_batch(lists, list(columns))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
