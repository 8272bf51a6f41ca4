# SPDX-License-Identifier: Apache-2.0
"""Transform in real pipelines: every way of running it gives the same examples."""

import contextlib
import functools
import itertools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tensorflow_metadata.proto.v0 import anomalies_pb2
from tfx import v1 as tfx
from tfx.types import channel_utils

from stoker.data.decode import decode
from stoker.data.input_files import matching_files
from stoker.data.tfrecord import read_records
from stoker.errors import StepFailed
from stoker.statistics.compute import read_statistics
from stoker.statistics.data_schema import read_schema

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]

PREPROCESSING = """
import tensorflow as tf
import tensorflow_transform as tft


def preprocessing_fn(inputs, custom_config):
  size = inputs['size']
  size = tf.sparse.to_dense(tf.SparseTensor(size.indices, size.values, [size.dense_shape[0], 1]))
  return {
      'id': inputs['id'],
      'size': tft.scale_to_z_score(size) * custom_config.get('factor', 1.0),
      'word': tft.compute_and_apply_vocabulary(inputs['word'], vocab_filename='words'),
      'bucket': tft.bucketize(size, 4),
  }


def stats_options_updater_fn(stats_type, stats_options):
  stats_options.num_top_values = 1 if stats_type.name == 'PRE_TRANSFORM' else 2
  return stats_options
"""

OWN_ANALYZER = """
import apache_beam as beam
import numpy as np
import tensorflow as tf
import tensorflow_transform as tft


class Largest(beam.PTransform):

  def expand(self, batches):
    return (
        batches
        | beam.Map(lambda batch: np.max(batch[0]))
        | beam.CombineGlobally(lambda found: np.float32(max(found, default=0))))


def preprocessing_fn(inputs):
  number = tf.cast(inputs['id'], tf.float32)
  largest, = tft.experimental.ptransform_analyzer([number], Largest(), [tf.float32], [[]])
  return {'share': number / largest}
"""

IN_MEMORY = ["--runner=FnApiRunner"]
TWO_WORKERS = [*IN_MEMORY, "--direct_running_mode=multi_processing", "--direct_num_workers=2"]
WAYS = [
    *("plain", "old_graph", "two_processes", "beam", "beam_job_server"),
    pytest.param("beam_workers", marks=pytest.mark.envs),
]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def rows(first, last):
    """Some rows without a size, and a word for every third row."""
    sizes = (i / 7 if i % 5 else "" for i in range(first, last))
    lines = [f"{i},{size},w{i % 3}" for i, size in zip(range(first, last), sizes, strict=True)]
    return "\n".join(["id,size,word", *lines, ""])


def run_pipeline(root, components):
    pipeline = tfx.dsl.Pipeline("transform", str(root), components=components)
    return tfx.orchestration.LocalDagRunner().run(pipeline).outputs


@contextlib.contextmanager
def job_server(folder):
    """Flags for a Beam job server, reached as Flink's and Spark's are; its workers lack Stoker."""
    write(folder / "stoker.py", "raise ImportError('this worker has no Stoker')")
    port_file = folder / "port"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "apache_beam.runners.portability.local_job_service_main"),
            *("--port", "0", "--port_file", str(port_file)),
        ],
        env={**os.environ, "PYTHONPATH": str(folder)},
        stderr=subprocess.DEVNULL,
    )
    try:
        while not port_file.exists():
            assert process.poll() is None
            time.sleep(0.1)
        yield [
            "--runner=PortableRunner",
            f"--job_endpoint=localhost:{port_file.read_text()}",
            "--environment_type=beam:env:harness_subprocess_python:v1",
            f"--environment_config={sys.executable} -m apache_beam.runners.worker.sdk_worker_main",
        ]
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """One run with every kind of Transform in it."""
    folder = tmp_path_factory.mktemp("transform")
    with job_server(folder / "server") as server:
        return run_every_kind(folder, server)


def run_every_kind(folder, server):
    old, new = (
        tfx.components.CsvExampleGen(
            input_base=str(Path(write(folder / name / "rows.csv", text)).parent)
        ).with_id(name)
        for name, text in {"old": rows(0, 300), "new": rows(300, 400)}.items()
    )
    statistics = tfx.components.StatisticsGen(examples=old.outputs["examples"])
    schema = tfx.components.SchemaGen(statistics=statistics.outputs["statistics"])
    module_file = write(folder / "preprocessing.py", PREPROCESSING)

    def transform(name, flags=(), examples=old.outputs["examples"], **arguments):
        given = {"module_file": module_file, "disable_statistics": True, **arguments}
        made = tfx.components.Transform(examples, schema.outputs["schema"], **given)
        return made.with_id(name).with_beam_pipeline_args(list(flags))

    splits = tfx.proto.SplitsConfig(analyze=["eval"], transform=["train"])
    both = tfx.dsl.union([old.outputs["examples"], new.outputs["examples"]])
    twice = tfx.dsl.union([old.outputs["examples"], old.outputs["examples"]])
    transforms = [
        transform("plain", disable_statistics=False),
        transform("old_graph", force_tf_compat_v1=True),
        transform("two_processes", ["--direct_num_workers=2"]),
        transform("beam", IN_MEMORY),
        transform("beam_job_server", server),
        transform("own_analyzer", module_file=write(folder / "own.py", OWN_ANALYZER)),
        transform("other_splits", splits_config=splits, custom_config={"factor": 2.0}),
        transform("graph_only", materialize=False, disable_analyzer_cache=True),
        transform("both_spans", examples=both),
        transform("one_twice", examples=twice),
    ]
    return run_pipeline(folder / "root", [old, new, statistics, schema, *transforms])


def read_rows(folder):
    """All examples, from the records."""
    batches = (decode(read_records(file)) for file in matching_files(folder))
    return [row for batch in itertools.chain.from_iterable(batches) for row in batch.to_pylist()]


@pytest.fixture(scope="module")
def by_way(outputs, tmp_path_factory):
    """What a way of running Transform gives: all but one are in the one run."""

    @functools.cache
    def give(way):
        if way in outputs:
            return outputs
        folder = tmp_path_factory.mktemp(way)
        transform = tfx.components.Transform(
            channel_utils.as_channel(outputs["old"]["examples"]),
            channel_utils.as_channel(outputs["SchemaGen"]["schema"]),
            module_file=write(folder / "preprocessing.py", PREPROCESSING),
            disable_statistics=True,
        )
        step = transform.with_id(way).with_beam_pipeline_args(TWO_WORKERS)
        return {**outputs, **run_pipeline(folder / "root", [step])}

    return give


def transformed(outputs, name, split="eval"):
    """The transformed examples of a split, by their id."""
    (examples,) = outputs[name]["transformed_examples"]
    table = read_rows(examples.path(split=split))
    return {row["id"][0]: row for row in table if "id" in row} or table


def test_examples_are_transformed_as_the_function_says(outputs):
    found = transformed(outputs, "plain")
    raw = read_rows(outputs["old"]["examples"][0].path(split="eval"))
    assert sorted(found) == sorted(row["id"][0] for row in raw)
    words = {row["word"][0]: found[row["id"][0]]["word"][0] for row in raw}
    assert sorted(words) == [b"w0", b"w1", b"w2"]
    assert sorted(words.values()) == [0, 1, 2]
    sizes = [row["size"][0] for row in transformed(outputs, "plain", "train").values()]
    assert sum(sizes) / len(sizes) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("way", WAYS[1:])
def test_every_way_of_running_gives_the_same_examples(by_way, way):
    outputs = by_way(way)
    for split in ("train", "eval"):
        expected, found = (transformed(outputs, name, split) for name in ("plain", way))
        assert found.keys() == expected.keys()
        for row, same in zip(expected.values(), map(found.get, expected), strict=True):
            assert (same["word"], same["bucket"]) == (row["word"], row["bucket"])
            assert same["size"] == pytest.approx(row["size"], abs=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_running_writes_the_layout_that_tft_reads(by_way, way):
    graph = Path(by_way(way)[way]["transform_graph"][0].uri)
    assert (graph / "transform_fn" / "saved_model.pb").is_file()
    vocabulary = (graph / "transform_fn" / "assets" / "words").read_bytes().split()
    assert sorted(vocabulary) == [b"w0", b"w1", b"w2"]
    for folder in ("metadata", "transformed_metadata"):
        assert read_schema(str(graph / folder / "schema.pbtxt")).feature
    is_old = b"transform_signature" in (graph / "transform_fn" / "saved_model.pb").read_bytes()
    assert is_old == (way == "old_graph")


def test_an_analyzer_of_the_users_own_runs_on_beam(outputs):
    shares = [row["share"][0] for row in transformed(outputs, "own_analyzer", "train")]
    assert max(shares) == pytest.approx(1)
    assert min(shares) < 0.1


def test_splits_are_analyzed_and_transformed_as_configured(outputs):
    (examples,) = outputs["other_splits"]["transformed_examples"]
    assert examples.splits == ["train"]
    assert len(list(Path(examples.uri).glob("Split-*"))) == 1
    (cache,) = outputs["other_splits"]["updated_analyzer_cache"]
    assert [folder.name.split("-")[2] for folder in Path(cache.uri).iterdir()] == ["eval"]


def test_the_custom_config_reaches_the_function(outputs):
    sizes = [row["size"][0] for row in transformed(outputs, "other_splits", "train").values()]
    plain = [row["size"][0] for row in transformed(outputs, "plain", "train").values()]
    assert max(sizes) - min(sizes) == pytest.approx(2 * (max(plain) - min(plain)), rel=0.3)


def test_examples_that_come_twice_count_twice(outputs):
    sizes = [
        len(read_rows(outputs[name]["transformed_examples"][0].path(split="train")))
        for name in ("plain", "one_twice")
    ]
    (cache,) = outputs["one_twice"]["updated_analyzer_cache"]
    assert sizes[1] == 2 * sizes[0]
    assert len(list(Path(cache.uri).iterdir())) == 2


def test_a_transform_that_writes_no_examples_writes_the_graph(outputs):
    assert sorted(outputs["graph_only"]) == ["transform_graph"]
    assert Path(outputs["graph_only"]["transform_graph"][0].uri, "transform_fn").is_dir()


def test_statistics_are_of_the_analyzed_and_of_all_transformed_examples(outputs):
    uris = {key: artifacts[0].uri for key, artifacts in outputs["plain"].items()}
    before, after = (
        read_statistics(f"{uris[key]}/FeatureStats.pb").datasets[0]
        for key in ("pre_transform_stats", "post_transform_stats")
    )
    trained = len(transformed(outputs, "plain", "train"))
    held_back = len(transformed(outputs, "plain", "eval"))
    assert (before.num_examples, after.num_examples) == (trained, trained + held_back)
    (word,) = (one for one in before.features if one.path.step[0] == "word")
    assert len(word.string_stats.top_values) == 1  # as the user's stats_options_updater_fn says
    names = {
        key: [one.name for one in read_schema(f"{uris[key]}/schema.pbtxt").feature]
        for key in ("pre_transform_schema", "post_transform_schema")
    }
    assert sorted(names["pre_transform_schema"]) == ["id", "size", "word"]
    assert sorted(names["post_transform_schema"]) == ["bucket", "id", "size", "word"]
    found = Path(uris["post_transform_anomalies"], "SchemaDiff.pb").read_bytes()
    anomalies = anomalies_pb2.Anomalies.FromString(found)
    assert len(anomalies.baseline.feature) == 4
    assert not anomalies.anomaly_info


def test_what_a_cache_knows_of_a_span_is_not_read_again(outputs, tmp_path):
    """A run with one more span equals a full run, though the old span cannot be read any more."""
    published, new = (outputs[name]["examples"][0] for name in ("old", "new"))
    old = tfx.types.standard_artifacts.Examples()
    old.copy_from(published)
    old.set_int_custom_property("is_external", 1)  # what was published would be refused
    old.uri, old.id = str(shutil.copytree(published.uri, tmp_path / "old")), 0
    (file,) = Path(old.path(split="train")).iterdir()
    file.write_bytes(b"no records here")
    known = outputs["plain"]["updated_analyzer_cache"]
    transform = tfx.components.Transform(
        examples=channel_utils.as_channel([old, new]),
        schema=channel_utils.as_channel(outputs["SchemaGen"]["schema"]),
        analyzer_cache=channel_utils.as_channel(known),
        module_file=write(tmp_path / "preprocessing.py", PREPROCESSING),
        splits_config=tfx.proto.SplitsConfig(analyze=["train"], transform=["eval"]),
        disable_statistics=True,
    )
    again = run_pipeline(tmp_path, [transform])
    assert transformed(again, "Transform") == transformed(outputs, "both_spans")
    (cache,) = again["Transform"]["updated_analyzer_cache"]
    assert len(list(Path(cache.uri).iterdir())) == 2


WRONG = {
    "raises": ("{'id': inputs['id'] / 'two'}", "inputs['id'] / 'two'", "TypeError"),
    "names_no_feature": ("{'id': inputs['idd']}", "inputs['idd']", "id, size, word"),
    "returns_nothing": ("None", "", "Return a dict of tensors by feature name"),
    "returns_no_tensor": ("{'id': inputs['id'], 'n': 7}", "", "returned 7 for 'n', which is not"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_function_is_shown_by_its_line_and_told_what_to_do(outputs, tmp_path, wrong, capfd):
    result, line, advice = WRONG[wrong]
    text = f"import tensorflow as tf\n\n\ndef preprocessing_fn(inputs):\n  return {result}\n"
    module_file = write(tmp_path / "wrong.py", text)
    transform = tfx.components.Transform(
        examples=channel_utils.as_channel(outputs["old"]["examples"]),
        schema=channel_utils.as_channel(outputs["SchemaGen"]["schema"]),
        module_file=module_file,
    )
    with pytest.raises(StepFailed) as raised:
        run_pipeline(tmp_path, [transform])
    shown = capfd.readouterr().err
    assert advice in f"{shown}\n{raised.value}"
    if line:
        first, code = shown[shown.index("Traceback") :].splitlines()[1:3]
        assert first.strip() == f'File "{module_file}", line 5, in preprocessing_fn'
        assert line in code
    else:
        assert "Traceback" not in shown
        assert f"preprocessing_fn ({module_file}, line 4)" in str(raised.value)
