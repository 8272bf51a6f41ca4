# SPDX-License-Identifier: Apache-2.0
"""The same data and the same function through the local engine and through Beam."""

import functools
import math
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import tensorflow as tf
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.data.encode import encode
from stoker.dsl.pool import LocalPool
from stoker.transform.apply import apply_graph
from stoker.transform.local_engine import analyze
from stoker.transform.passes import Dataset
from stoker.transform.tracing import trace

SCHEMA = """
feature { name: "id" type: INT presence { min_fraction: 1 } shape {} }
feature { name: "x" type: FLOAT presence { min_fraction: 1 } shape {} }
feature { name: "n" type: INT presence { min_fraction: 1 } shape {} }
feature { name: "s" type: BYTES presence { min_fraction: 1 } shape {} }
feature { name: "key" type: BYTES presence { min_fraction: 1 } shape {} }
feature { name: "label" type: INT presence { min_fraction: 1 } shape {} }
feature { name: "weight" type: FLOAT presence { min_fraction: 1 } shape {} }
feature { name: "v" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 3 } } }
feature { name: "sparse_x" type: FLOAT }
feature { name: "sparse_n" type: INT }
feature { name: "words" type: BYTES }
feature { name: "ragged_x" type: FLOAT }
feature { name: "ragged_words" type: BYTES }
feature { name: "no_x" type: FLOAT }
feature { name: "no_words" type: BYTES }
tensor_representation_group { key: "" value {
  tensor_representation { key: "ragged_x" value { ragged_tensor {
    feature_path { step: "ragged_x" } row_partition_dtype: INT64 } } }
  tensor_representation { key: "ragged_words" value { ragged_tensor {
    feature_path { step: "ragged_words" } row_partition_dtype: INT64 } } }
} }
"""
KEPT_EXAMPLES = "examples.tfrecord.gz"
WORDS = [b"red", b"green", b"blue", b"a b", b"yellow", b"\xc3\xa9t\xc3\xa9", b"x-1", b"x-2", b"y-1"]
_TYPES = {
    schema_pb2.INT: pa.large_list(pa.int64()),
    schema_pb2.FLOAT: pa.large_list(pa.float32()),
    schema_pb2.BYTES: pa.large_list(pa.large_binary()),
}


def make_schema():
    return text_format.Parse(SCHEMA, schema_pb2.Schema())


def make_batches(num_rows=120, seed=0, batch_rows=50, first_id=0):
    """Seeded rows; batches of several sizes."""
    random = np.random.default_rng(seed)
    rows = [_row(random, first_id + row) for row in range(num_rows)]
    schema = make_schema()
    return [
        pa.record_batch(
            {
                feature.name: pa.array(
                    [row[feature.name] for row in rows[start : start + batch_rows]],
                    _TYPES[feature.type],
                )
                for feature in schema.feature
            }
        )
        for start in range(0, num_rows, batch_rows)
    ]


def _row(random, row):
    def words(most):
        return [WORDS[int(random.zipf(1.7)) % len(WORDS)] for _ in range(random.integers(most))]

    return {
        "id": [row],
        "x": [random.normal(5, 2)],
        "n": [random.integers(-5, 20)],
        "s": words(1) or [WORDS[row % 7]],
        "key": [[b"a", b"b", b"c"][random.integers(3)]],
        "label": [random.integers(2)],
        "weight": [random.integers(1, 8) / 4],
        "v": random.normal(0, 3, 3).tolist(),
        "sparse_x": random.normal(0, 1, random.integers(3)).tolist() or None,
        "sparse_n": random.integers(0, 9, random.integers(4)).tolist(),
        "words": words(5),
        "ragged_x": random.normal(0, 1, random.integers(4)).tolist(),
        "ragged_words": words(4),
        "no_x": None,
        "no_words": [],
    }


def shards_of(batches, num_shards=1):
    return [functools.partial(iter, batches[one::num_shards]) for one in range(num_shards)]


def dataset(key, batches, num_shards=1):
    return Dataset(key=key, shards=shards_of(batches, num_shards))


def run_locally(function, batches, folder, *, spans=None, pool=None, compat_v1=False, **cache):
    """The transform graph that the local engine writes, and the examples it makes of `batches`.

    `spans` are what it analyzes, if not the same.
    """
    graph_dir = str(folder / "local")
    traced = trace(
        function,
        schema=make_schema(),
        tmp_dir=str(folder / "local_tmp"),
        force_tf_compat_v1=compat_v1,
    )
    datasets = [dataset("all", batches)] if spans is None else spans
    analyze(traced, datasets, graph_dir, pool=pool or LocalPool(), **cache)
    made = apply_graph(graph_dir, batches, schema=make_schema())
    return graph_dir, [record for batch in made for record in encode(batch).to_pylist()]


def run_on_beam(function, batches, folder, *, analyzed=None, compat_v1=False):
    """The same by tft_beam on Beam's in-memory runner."""
    import apache_beam as beam
    import tensorflow_transform.beam as tft_beam

    config, graph_dir = beam_config(), str(folder / "beam")
    context = tft_beam.Context(str(folder / "beam_tmp"), force_tf_compat_v1=compat_v1)
    with beam_pipeline() as pipeline, context:
        data = pipeline | beam.Create(batches, reshuffle=False)
        to_analyze = data
        if analyzed is not None:
            to_analyze = pipeline | "Analyzed" >> beam.Create(analyzed, reshuffle=False)
        transform_fn = (to_analyze, config) | tft_beam.AnalyzeDataset(function)
        _ = transform_fn | tft_beam.WriteTransformFn(graph_dir)
        _ = (
            ((data, config), transform_fn)
            | tft_beam.TransformDataset(output_record_batches=True)
            | tft_beam.EncodeTransformedDataset()
            | beam.io.WriteToTFRecord(str(folder / "examples"), shard_name_template="")
        )
    records = tf.data.TFRecordDataset(str(folder / "examples")).as_numpy_iterator()
    return graph_dir, list(records)


def keep_answer(graph_dir, records, folder):
    """Keep what `assert_same` compares, where it is in a transform graph, and the examples."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("transform_fn/assets", "transformed_metadata"):
        if Path(graph_dir, name).exists():
            shutil.copytree(Path(graph_dir, name), folder / name)
    with tf.io.TFRecordWriter(str(folder / KEPT_EXAMPLES), "GZIP") as writer:
        for record in records:
            writer.write(record)


def read_answer(folder):
    """What was kept, as a run returns it."""
    records = tf.data.TFRecordDataset(str(folder / KEPT_EXAMPLES), "GZIP").as_numpy_iterator()
    return str(folder), list(records)


def beam_pipeline():
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions

    return beam.Pipeline(
        options=PipelineOptions(["--runner=FnApiRunner", "--no_pipeline_type_check"])
    )


def beam_config():
    from tfx_bsl.tfxio.tf_example_record import TFExampleBeamRecord

    tfxio = TFExampleBeamRecord("inmem", telemetry_descriptors=["test"], schema=make_schema())
    return tfxio.TensorAdapterConfig()


def assert_same(local, beam):
    """The same vocabularies, schemas and examples; floats to 1e-5."""
    (local_dir, local_records), (beam_dir, beam_records) = local, beam
    assert assets(local_dir) == assets(beam_dir)
    assert file(local_dir, "transformed_metadata/schema.pbtxt") == file(
        beam_dir, "transformed_metadata/schema.pbtxt"
    )
    assert file(local_dir, "transformed_metadata/asset_map") == file(
        beam_dir, "transformed_metadata/asset_map"
    )
    ours, theirs = by_id(local_records), by_id(beam_records)
    assert ours.keys() == theirs.keys()
    for row, features in theirs.items():
        assert ours[row].keys() == features.keys()
        for name, values in features.items():
            assert_close(ours[row][name], values, f"{name} of row {row}")


def file(folder, name):
    path = Path(folder, name)
    return path.read_bytes() if path.exists() else None


def assets(graph_dir):
    """The vocabularies by file name; compressed ones as their records."""
    folder = Path(graph_dir, "transform_fn", "assets")
    found = {}
    for path in folder.iterdir() if folder.exists() else ():
        if path.name.endswith(".gz"):
            records = tf.data.TFRecordDataset(str(path), "GZIP").as_numpy_iterator()
            found[path.name] = list(records)
        else:
            found[path.name] = path.read_bytes().split(b"\n")
    return found


def by_id(records):
    found = {}
    for record in records:
        features = tf.train.Example.FromString(record).features.feature
        values = {name: feature_values(feature) for name, feature in features.items()}
        found[values["id"][0]] = values
    return found


def feature_values(feature):
    kind = feature.WhichOneof("kind")
    return list(getattr(feature, kind).value) if kind else None


def assert_close(ours, theirs, what):
    if theirs and isinstance(theirs[0], float):
        assert len(ours) == len(theirs), what
        for one, other in zip(ours, theirs, strict=True):
            assert math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-5) or (
                math.isnan(one) and math.isnan(other)
            ), f"{what}: {ours} and {theirs}"
    else:
        assert ours == theirs, what
