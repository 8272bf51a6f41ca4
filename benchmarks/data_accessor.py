# SPDX-License-Identifier: Apache-2.0
"""The DataAccessor's batches against tfxio's and against plain tf.data, on the same files.

Transformed examples have 18 columns with one value in each cell: numbers, or with six columns of
words. Raw ones come from a CSV file by CsvExampleGen: 18 columns, half of them words, 5% of the
cells missing, so that no feature has a fixed shape; they are read as sparse tensors and as ragged
ones. `lists` have up to three values in a cell, and `pairs` are SparseFeatures of two columns.

Plain tf.data reads TFRecords in parallel, shuffles, batches and parses them with one op per batch.
Batches are read in a graph, as `fit` reads them, and by a loop in Python. Readers take turns; each
ratio is that of the medians of their turns. Numbers in brackets are per CPU second: that of the
whole process until it has filled its buffers again, which were full when the turn began. tf.data
lets a buffer grow that is emptied faster than it is filled, to hundreds of batches, so that turns
are long and the first is not counted. Names of tables after the number of rows mean these alone.
"""

import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import measuring
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import tensorflow as tf
from tensorflow.python.util import deprecation
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx_bsl.public.tfxio import TensorFlowDatasetOptions, TFExampleRecord

from stoker.artifacts import Examples
from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.example_gen.executor import CsvExecutor
from stoker.data.accessor import tf_dataset_factory
from stoker.data.column_file import ColumnWriter
from stoker.data.encode import encode
from stoker.data.input_files import matching_files
from stoker.data.parsing import infer_schema_of_files, make_parsing
from stoker.data.tfrecord import write_records

NUM_COLUMNS, NUM_SHARDS = 18, 8
BATCH_SIZES = (64, 256, 1024)
WORDS = (5, 100, 1000, 50_000, 20, 300)
RAW_WORDS = (5, 100, 1000, 50_000, 20, 300, 8, 20_000, 1_000_000)
"""How many different words the columns of words have."""
TURNS, SECONDS, SETTLE_SECONDS = 3, 2.0, 1.0
TYPES = {"int64": schema_pb2.INT, "float": schema_pb2.FLOAT, "large_binary": schema_pb2.BYTES}

Reader = Callable[[str, Any, schema_pb2.Schema], tf.data.Dataset]


def main(folder: str, rows: int, *only: str) -> None:
    clock = measuring.Clock()
    for name, (files, schema) in _tables(os.path.join(folder, "accessor"), rows).items():
        if only and name not in only:
            continue
        for batch_size in BATCH_SIZES:
            for loop in (read_in_graph, _read_in_python):
                _compare(name, files, schema, batch_size, loop)
        _compare_first_epochs(name, files, schema, rows)
    wall, cpu = clock.since()
    print(json.dumps({"wall": wall, "cpu": cpu}))


def _tables(folder: str, rows: int) -> dict[str, tuple[str, schema_pb2.Schema]]:
    """Patterns of files and schemas, by the names of the tables."""
    tables = {
        "numbers": _write(f"{folder}/numbers/Split-train", rows, ()),
        "with words": _write(f"{folder}/with-words/Split-train", rows, WORDS),
    }
    files, sparse = write_raw(f"{folder}/raw", rows)
    ragged = schema_pb2.Schema(represent_variable_length_as_ragged=True)
    ragged.MergeFrom(sparse)
    tables |= {"raw sparse": (files, sparse), "raw ragged": (files, ragged)}
    files, lists = _write(f"{folder}/lists/Split-train", rows // 2, WORDS, most=3)
    pairs = schema_pb2.Schema()
    for feature in lists.feature:
        pairs.feature.add(name=feature.name, type=feature.type)
    for number in range(0, NUM_COLUMNS - len(WORDS), 2):
        sparse_feature = pairs.sparse_feature.add(name=f"pair_{number}")
        sparse_feature.index_feature.add(name=f"number_{number}")
        sparse_feature.value_feature.name = f"number_{number + 1}"
    return tables | {"lists": (files, lists), "pairs": (files, pairs)}


def _compare(
    name: str, files: str, schema: schema_pb2.Schema, batch_size: int, loop: Callable[..., None]
) -> None:
    options = TensorFlowDatasetOptions(batch_size=batch_size)
    readers: dict[str, Reader] = {
        "tfxio": read_with_tfxio,
        "plain": _plain,
        "ours": tf_dataset_factory,
    }
    iterators = {key: iter(read(files, options, schema)) for key, read in readers.items()}
    for iterator in iterators.values():
        rates(iterator, batch_size, loop)
    turns: dict[str, list[tuple[float, float]]] = {key: [] for key in readers}
    for _ in range(TURNS):
        for key, iterator in iterators.items():
            turns[key].append(rates(iterator, batch_size, loop))
    walls, cpus = (
        {key: statistics.median(turn[which] for turn in own) for key, own in turns.items()}
        for which in (0, 1)
    )
    shown = ", ".join(
        f"{key} {walls[key] / 1e3:,.0f}k/s ({cpus[key] / 1e3:,.0f}k)" for key in walls
    )
    print(
        f"{name:10} {batch_size:>5} {'graph' if loop is read_in_graph else 'python'}: {shown}; "
        f"{walls['ours'] / walls['tfxio']:.1f} times tfxio, "
        f"{cpus['ours'] / cpus['tfxio']:.1f} by CPU seconds; "
        f"{walls['ours'] / walls['plain']:.1f} times plain, "
        f"{cpus['ours'] / cpus['plain']:.1f} by CPU seconds",
        flush=True,
    )


def rates(iterator: Any, batch_size: int, loop: Callable[..., None]) -> tuple[float, float]:
    """Examples per second, and per CPU second."""
    cpu, start, num_rows = time.process_time(), time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        loop(iterator, tf.constant(10))
        num_rows += 10 * batch_size
    wall = time.perf_counter() - start
    time.sleep(SETTLE_SECONDS)
    return num_rows / wall, num_rows / (time.process_time() - cpu)


def _compare_first_epochs(name: str, files: str, schema: schema_pb2.Schema, rows: int) -> None:
    """One epoch from a new dataset on; then without columns, while a cache is filled beside."""
    options = TensorFlowDatasetOptions(batch_size=256)
    copy = os.path.join(os.path.dirname(os.path.dirname(files)), "records-alone")
    shutil.copytree(os.path.dirname(files), copy, dirs_exist_ok=True)

    def without_columns(files: str, options: Any, schema: schema_pb2.Schema) -> tf.data.Dataset:
        return tf_dataset_factory(files, options, schema, cache_dir=os.path.join(copy, "cache"))

    plain, ours = (
        _first_epoch(read, files, options, schema) for read in (_plain, tf_dataset_factory)
    )
    alone = _first_epoch(without_columns, os.path.join(copy, "*.gz"), options, schema)
    print(
        f"{name:10}   256 first epoch: plain {rows / plain / 1e3:,.0f}k/s, ours {plain / ours:.1f} "
        f"times as fast, without columns {plain / alone:.2f} times",
        flush=True,
    )


def _first_epoch(read: Reader, files: str, options: Any, schema: schema_pb2.Schema) -> float:
    start = time.perf_counter()
    dataset = read(files, options._replace(num_epochs=1), schema)
    dataset.reduce(np.int64(0), lambda count, _: count + 1).numpy()
    return time.perf_counter() - start


@tf.function  # type: ignore[untyped-decorator]
def read_in_graph(iterator: Iterator[Any], num_batches: tf.Tensor) -> None:
    for _ in tf.range(num_batches):
        next(iterator)


def _read_in_python(iterator: Iterator[Any], num_batches: tf.Tensor) -> None:
    for _ in range(int(num_batches)):
        next(iterator)


def read_with_tfxio(files: str, options: Any, schema: schema_pb2.Schema) -> tf.data.Dataset:
    return TFExampleRecord(files, schema=schema).TensorFlowDataset(options)


def _plain(files: str, options: Any, schema: schema_pb2.Schema) -> tf.data.Dataset:
    """What the guides of tf.data advise: batches first, then one op that parses them."""
    features = make_parsing(schema, None).features

    def open_file(file: tf.Tensor) -> tf.data.Dataset:
        return tf.data.TFRecordDataset(file, "GZIP", buffer_size=8 << 20)

    dataset = tf.data.Dataset.list_files(files).interleave(
        open_file, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False
    )
    dataset = dataset.shuffle(options.shuffle_buffer_size).repeat(options.num_epochs)
    with deprecation.silence():
        parse = tf.data.experimental.parse_example_dataset(features, tf.data.AUTOTUNE)
    return dataset.batch(options.batch_size).apply(parse).prefetch(tf.data.AUTOTUNE)


def write_raw(folder: str, rows: int) -> tuple[str, schema_pb2.Schema]:
    """A CSV file with missing cells, and the examples that CsvExampleGen makes of it."""
    random = np.random.default_rng(0)
    columns = _columns(random, rows, RAW_WORDS)
    missing = {name: pa.array(random.random(rows) < 0.05) for name in columns}
    cells = {name: pc.if_else(missing[name], None, columns[name]) for name in columns}
    is_text = pa.types.is_large_binary
    table = pa.table(
        {
            name: one.cast(pa.large_string()) if is_text(one.type) else one
            for name, one in cells.items()
        }
    )
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    pyarrow.csv.write_csv(table, os.path.join(folder, "data", "rows.csv"))
    examples = Examples()
    examples.uri = os.path.join(folder, "examples")
    step = CsvExampleGen(os.path.join(folder, "data"))
    CsvExecutor().Do({}, {"examples": [examples]}, step.spec.values({}))
    files = os.path.join(examples.uri, "Split-train", "*")
    return files, infer_schema_of_files(matching_files(files))


def _write(
    split: str, rows: int, words: tuple[int, ...], most: int = 1
) -> tuple[str, schema_pb2.Schema]:
    """Shards with their columns, and the schema; up to `most` values in a cell."""
    random = np.random.default_rng(0)
    own = rows // NUM_SHARDS
    for shard in range(NUM_SHARDS):
        path = os.path.join(split, f"data-{shard}.gz")
        ends = np.arange(own + 1)
        if most > 1:
            ends = np.concatenate(([0], np.cumsum(random.integers(0, most + 1, own))))
        columns = _columns(random, int(ends[-1]), words)
        lists = [
            pa.LargeListArray.from_arrays(pa.array(ends), column) for column in columns.values()
        ]
        batch = pa.record_batch(lists, list(columns))
        with ColumnWriter(path) as writer:
            write_records(path, encode(batch).to_pylist())
            writer.write(batch)
    schema = schema_pb2.Schema()
    for field in batch.schema:
        feature = schema.feature.add(name=field.name, type=TYPES[str(field.type.value_type)])
        if most == 1:
            feature.presence.min_fraction = 1
            feature.shape.dim.add(size=1)
    return os.path.join(split, "*"), schema


def _columns(random: np.random.Generator, size: int, words: tuple[int, ...]) -> dict[str, pa.Array]:
    columns: dict[str, pa.Array] = {}
    for number in range(NUM_COLUMNS - len(words)):
        odd = number % 2
        values = random.random(size) if odd else random.integers(0, 1 << 20, size)
        columns[f"number_{number}"] = pa.array(values, pa.float32() if odd else pa.int64())
    for number, count in enumerate(words):
        known = pa.array([b"word number %d" % i for i in range(count)], pa.large_binary())
        columns[f"word_{number}"] = known.take(pa.array(random.integers(0, count, size)))
    return columns


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
