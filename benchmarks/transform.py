# SPDX-License-Identifier: Apache-2.0
"""Transform: the local engine against TFT on Beam's in-memory runner, on the same rows.

python benchmarks/transform.py --rows 1000000

Each reads 18 columns, analyzes them (z-scores, vocabularies, buckets), transforms them, and writes
gzip TFRecords, one after the other, in a process of its own. Ours reads and writes examples as a
step does: with the columns beside them, and then again without; Beam is given record batches.
Imports are not counted: a Transform step starts in a process that has done them.

With --beam-rows Beam gets fewer rows; its times are then scaled up, and marked so. With --stages
ours alone runs, in one process, and it is said where the CPU seconds go.
"""

import argparse
import functools
import gc
import json
import os
import shutil
import tempfile
import time
from typing import Any

import measuring
import numpy as np
import pyarrow as pa
from measuring import Times

BATCH_ROWS = 4096
WORDS = {"color": 5, "city": 100, "zone": 1000, "street": 20_000, "device": 50, "campaign": 50_000}
FLOATS = ["fare", "tips", "tolls", "miles", "speed", "lat", "lon"]
INTS = ["seconds", "hour", "weekday", "seats", "age"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--beam-rows", type=int, help="fewer rows for Beam; 0 leaves it out")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--stages", action="store_true", help="where our CPU seconds go")
    parser.add_argument("--side", choices=["ours", "stages", "beam"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        if args.side == "stages":
            times = ours_by_stages(args.folder)
        else:
            times = ours(args.folder, args.workers) if args.side == "ours" else on_beam(args.folder)
        print(json.dumps(times))
    elif args.stages:
        show_stages(args.rows)
    else:
        beam_rows = args.rows if args.beam_rows is None else args.beam_rows
        compare(args.rows, beam_rows, args.workers)


def compare(rows: int, beam_rows: int, workers: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_data(data_file(folder), rows)
        write_examples(folder)
        local = run_side("ours", folder, workers)
        measuring.show(f"ours, {workers} processes", rows, local)
        shutil.rmtree(os.path.join(folder, "columns"))
        records = run_side("ours", folder, workers)
        measuring.show("ours, without columns", rows, records)
        print(
            f"columns save: wall {1 - local['wall'] / records['wall']:.0%}, "
            f"CPU {1 - local['cpu'] / records['cpu']:.0%}"
        )
        if not beam_rows:
            return
        if beam_rows != rows:
            write_data(data_file(folder), beam_rows)
        beam = run_side("beam", folder, workers)
        measuring.show("TFT on Beam, in memory", beam_rows, beam)
    scale = rows / beam_rows
    note = "" if scale == 1 else f" (Beam's times scaled up {scale:g} times)"
    print(
        f"ratio{note}: wall {scale * beam['wall'] / local['wall']:.1f}, "
        f"CPU {scale * beam['cpu'] / local['cpu']:.1f}, "
        f"memory {beam['memory'] / local['memory']:.1f}"
    )


def show_stages(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_data(data_file(folder), rows)
        write_examples(folder)
        measuring.show("ours, one process", rows, run_side("stages", folder, 1))


def run_side(side: str, folder: str, workers: int) -> Times:
    return measuring.run(__file__, "--side", side, "--folder", folder, "--workers", str(workers))


def ours(folder: str, workers: int) -> Times:
    from stoker.data.sharding import plan_shards
    from stoker.dsl.pool import LocalPool
    from stoker.transform.example_batches import list_files, read_shard, write_shard
    from stoker.transform.local_engine import analyze, transform
    from stoker.transform.passes import Dataset
    from stoker.transform.tracing import trace

    schema, graph_dir = make_schema(), os.path.join(folder, "ours")
    gc.freeze()  # as the fork server has done it for a worker
    clock = measuring.Clock()
    shards = plan_shards(list_files([os.path.join(folder, "Split-raw")]), cut=True)
    reads = [functools.partial(read_shard, schema, shard) for shard in shards]
    target = os.path.join(folder, "Split-transformed")
    writes = [
        functools.partial(write_shard, target, number, len(shards)) for number in range(len(shards))
    ]
    with LocalPool(workers) as pool:
        traced = trace(preprocessing_fn, schema=schema, tmp_dir=os.path.join(folder, "ours_tmp"))
        analyze(traced, [Dataset(key="all", shards=reads)], graph_dir, pool=pool)
        transform(graph_dir, zip(reads, writes, strict=True), schema=schema, pool=pool)
    wall, cpu = clock.since()
    return {"wall": wall, "cpu": cpu}


def ours_by_stages(folder: str) -> Times:
    from tfx_bsl.tfxio.tensor_adapter import TensorAdapter

    from stoker.data import column_file, shards
    from stoker.transform import accumulate, apply, example_batches, passes, vocabulary
    from stoker.transform import local_engine as engine

    named = {
        "analysis: tracing and saving graphs": (engine, "analyze"),
        "analysis: vocabularies merged": (accumulate, "merge_vocabularies"),
        "analysis: vocabularies ordered": (vocabulary, "order"),
        "analysis: means, variances, quantiles": (accumulate.Combined, "add"),
        "analysis: words counted": (accumulate.Vocabulary, "add"),
        "analysis: the rest of the pass": (passes, "_read_shard"),
        "both: graphs loaded": (apply.LoadedGraph, "__init__"),
        "both: columns read": (example_batches, "_slice_columns"),
        "both: columns to tensors": (TensorAdapter, "ToBatchTensors"),
        "both: TensorFlow runs the graph": (apply.LoadedGraph, "_outputs"),
        "application: tensors to columns": (apply._ColumnsFromTensors, "__call__"),
        "application: columns to examples": (example_batches, "encode"),
        "application: checksums and framing": (shards, "_frame"),
        "application: compression (deflate)": (shards, "_pack_frames"),
        "application: writing records": (shards.ShardWriter, "write"),
        "application: writing columns": (column_file.ColumnWriter, "write"),
        "application: the rest of the pass": (engine, "_transform_shard"),
    }
    stages = measuring.Stages(named, time.process_time)
    times = ours(folder, 1)
    stages.show(times["cpu"])
    return times


def on_beam(folder: str) -> Times:
    import apache_beam as beam
    import tensorflow_transform.beam as tft_beam
    from apache_beam.options.pipeline_options import PipelineOptions
    from tfx_bsl.tfxio.tf_example_record import TFExampleBeamRecord

    tfxio = TFExampleBeamRecord("inmem", telemetry_descriptors=["bench"], schema=make_schema())
    config, graph_dir = tfxio.TensorAdapterConfig(), os.path.join(folder, "beam")
    context = tft_beam.Context(os.path.join(folder, "beam_tmp"))

    def data(pipeline: Any, name: str) -> Any:
        with pa.OSFile(data_file(folder)) as file:
            indices = range(pa.ipc.open_file(file).num_record_batches)
        read = functools.partial(read_batch, folder)
        return pipeline | f"{name}Create" >> beam.Create(indices) | f"{name}Read" >> beam.Map(read)

    clock = measuring.Clock()
    with beam.Pipeline(options=PipelineOptions(["--runner=FnApiRunner"])) as pipeline, context:
        transform_fn = (data(pipeline, "a"), config) | tft_beam.AnalyzeDataset(preprocessing_fn)
        _ = transform_fn | tft_beam.WriteTransformFn(graph_dir)
        rows = ((data(pipeline, "t"), config), transform_fn) | tft_beam.TransformDataset(
            output_record_batches=True
        )
        _ = (
            rows
            | tft_beam.EncodeTransformedDataset()
            | beam.io.WriteToTFRecord(os.path.join(folder, "beam_examples"), file_name_suffix=".gz")
        )
    wall, cpu = clock.since()
    return {"wall": wall, "cpu": cpu}


def read_batch(folder: str, index: int) -> pa.RecordBatch:
    with pa.OSFile(data_file(folder)) as file:
        return pa.ipc.open_file(file).get_batch(index)


def preprocessing_fn(inputs: dict[str, Any]) -> dict[str, Any]:
    import tensorflow as tf
    import tensorflow_transform as tft

    outputs = {}
    for name in (*FLOATS[:4], *INTS[:3]):
        outputs[f"{name}_z"] = tft.scale_to_z_score(tf.cast(inputs[name], tf.float32))
    for name in (*FLOATS[4:], *INTS[3:]):
        outputs[f"{name}_bucket"] = tft.bucketize(inputs[name], 10)
    for name, size in WORDS.items():
        top_k = size // 2 if size > 1000 else None
        outputs[f"{name}_index"] = tft.compute_and_apply_vocabulary(
            inputs[name], top_k=top_k, num_oov_buckets=1, vocab_filename=name
        )
    return outputs


def data_file(folder: str) -> str:
    return os.path.join(folder, "data.arrow")


def write_data(path: str, rows: int) -> None:
    random = np.random.default_rng(20)
    words = {name: [f"{name}-{i * 7919}".encode() for i in range(n)] for name, n in WORDS.items()}
    columns = {name: pa.array(values, pa.large_binary()) for name, values in words.items()}
    schema = make_batch(random, columns, 1).schema
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for start in range(0, rows, BATCH_ROWS):
            writer.write_batch(make_batch(random, columns, min(BATCH_ROWS, rows - start)))


def write_examples(folder: str) -> None:
    from stoker.data.encode import encode
    from stoker.data.shards import Block, ShardWriter, pack

    path = os.path.join(folder, "Split-raw", "data_tfrecord-00000-of-00001.gz")
    with ShardWriter(path) as shard, pa.OSFile(data_file(folder)) as file:
        reader = pa.ipc.open_file(file)
        for index in range(reader.num_record_batches):
            batch = reader.get_batch(index)
            shard.write(pack(Block(records=encode(batch), columns=batch)))


def make_batch(
    random: np.random.Generator, words: dict[str, pa.Array], rows: int
) -> pa.RecordBatch:
    columns: dict[str, pa.Array] = {}
    for number, name in enumerate(FLOATS):
        columns[name] = pa.array(random.gamma(2 + number, 3, rows).astype(np.float32))
    for number, name in enumerate(INTS):
        columns[name] = pa.array(random.integers(0, 10 ** (number + 1), rows))
    for name, values in words.items():
        skewed = (len(values) * random.random(rows) ** 2).astype(np.int64)
        columns[name] = values.take(pa.array(skewed))
    ends = pa.array(np.arange(rows + 1))
    lists = {name: pa.LargeListArray.from_arrays(ends, one) for name, one in columns.items()}
    return pa.record_batch(lists)


def make_schema() -> Any:
    from tensorflow_metadata.proto.v0 import schema_pb2

    schema = schema_pb2.Schema()
    kinds = {schema_pb2.FLOAT: FLOATS, schema_pb2.INT: INTS, schema_pb2.BYTES: list(WORDS)}
    for kind, names in kinds.items():
        for name in names:
            feature = schema.feature.add(name=name, type=kind)
            feature.presence.min_fraction = 1
            feature.shape.dim.add(size=1)
    return schema


if __name__ == "__main__":
    main()
