# SPDX-License-Identifier: Apache-2.0
"""Data steps on Ray with a head and three nodes: the same files as here, whatever is lost.

STOKER_KILLS says how often a node is killed, each time at another moment.
"""

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from stoker.artifacts import Model
from stoker.components.bulk_inferrer import BulkInferrer
from stoker.components.evaluator import Evaluator
from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.schema_gen import SchemaGen
from stoker.components.statistics_gen import StatisticsGen
from stoker.components.transform.component import Transform
from stoker.dsl import Channel, Pipeline
from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.errors import StepFailed
from stoker.launchers.on_ray import OnRay
from stoker.launchers.ray_pool import RayPool
from stoker.runner import LocalDagRunner
from stoker.task import Task

pytestmark = [pytest.mark.tf, pytest.mark.slow]

KILLS = int(os.environ.get("STOKER_KILLS", "2"))
NUM_NODES = 3
NUM_FILES = 24
PREPROCESSING = """
import tensorflow as tf
import tensorflow_transform as tft


def preprocessing_fn(inputs):
  x = inputs['x']
  x = tf.sparse.to_dense(tf.SparseTensor(x.indices, x.values, [x.dense_shape[0], 1]))
  return {
      'x': tft.scale_to_z_score(x),
      'bucket': tft.bucketize(x, 7),
      'word': tft.compute_and_apply_vocabulary(inputs['word'], vocab_filename='words'),
      'label': inputs['label'],
  }
"""
EVAL = EvalConfig(
    model_specs=[{"label_key": "label"}],
    slicing_specs=[{}, {"feature_keys": ["word"]}],
    metrics_specs=[{"metrics": [{"class_name": "BinaryAccuracy"}, {"class_name": "AUC"}]}],
)


@pytest.fixture(scope="module")
def cluster():
    """A head that runs nothing; the nodes that come to it have room for one process each."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STOKER_SHARD_BYTES", "20000")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        fill(cluster)
        yield cluster
        cluster.shutdown()


def fill(cluster):
    while len(cluster.worker_nodes) < NUM_NODES:
        cluster.add_node(num_cpus=1)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    chance = random.Random(1)
    for number in range(NUM_FILES):
        rows = [
            f"{chance.gauss(0, 1) if chance.random() < 0.9 else ''},w{chance.randrange(40)},"
            f"{chance.randrange(2)}"
            for _ in range(1000)
        ]
        (folder / f"{number:05}.csv").write_text("\n".join(["x,word,label", *rows, ""]))
    return str(folder)


SAVE = """
import sys
import tensorflow as tf

module = tf.Module()
module.weights = tf.Variable(tf.random.stateless_normal([1, 64], [1, 2]))
spec = {"x": tf.io.VarLenFeature(tf.float32)}

@tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
def predict(examples):
    x = tf.io.parse_example(examples, spec)["x"]
    x = tf.sparse.to_dense(tf.sparse.reset_shape(x, [tf.size(examples), 1]))
    hidden = tf.nn.tanh(x @ module.weights)
    return {"score": tf.nn.sigmoid(hidden @ tf.transpose(module.weights))}

tf.saved_model.save(module, sys.argv[1], {"serving_default": predict})
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    artifact = Model()
    artifact.uri = str(tmp_path_factory.mktemp("model"))
    subprocess.run([sys.executable, "-c", SAVE, f"{artifact.uri}/Format-Serving"], check=True)
    return Channel(Model, artifacts=[artifact])


def make_steps(data_dir, folder, model=None):
    examples = CsvExampleGen(data_dir)
    statistics = StatisticsGen(examples.outputs["examples"])
    schema = SchemaGen(statistics.outputs["statistics"], infer_feature_shape=False)
    steps = [examples, statistics, schema]
    if model is None:
        return steps
    folder.mkdir(parents=True)
    (folder / "preprocessing.py").write_text(PREPROCESSING)
    transform = Transform(
        examples.outputs["examples"],
        schema.outputs["schema"],
        module_file=str(folder / "preprocessing.py"),
    )
    evaluator = Evaluator(examples.outputs["examples"], model, eval_config=EVAL)
    inferrer = BulkInferrer(examples.outputs["examples"], model)
    return [*steps, transform, evaluator, inferrer]


def run(root, steps, launcher=None):
    runner = LocalDagRunner(launcher) if launcher else LocalDagRunner()
    return runner.run(Pipeline("data", str(root), components=steps)).outputs


def list_contents(outputs):
    """The content of every file of every output, by step, output and place in it."""
    return {
        (step, key, str(path.relative_to(artifact.uri))): read_content(path)
        for step, of_step in outputs.items()
        for key, artifacts in of_step.items()
        for artifact in artifacts
        for path in sorted(Path(artifact.uri).rglob("*"))
        if path.is_file()
    }


def read_content(path):
    """The bytes; of columns their rows, since they name the inode of their shard too."""
    if path.suffix != ".arrow":
        return path.read_bytes()
    with pa.ipc.open_file(path) as file:
        return [file.get_batch(number) for number in range(file.num_record_batches - 1)]


@pytest.fixture(scope="module")
def here(data_dir, tmp_path_factory, model):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STOKER_SHARD_BYTES", "20000")
        folder = tmp_path_factory.mktemp("here")
        return run(folder / "root", make_steps(data_dir, folder / "code", model))


OWN_PATHS = {"saved_model.pb", "fingerprint.pb", "eval_config.json"}
"""Files with paths of the run in them, or names that TensorFlow makes up."""


def test_every_data_step_writes_the_files_that_it_writes_here(
    cluster, data_dir, tmp_path, model, here, capfd
):
    there = run(
        tmp_path / "root", make_steps(data_dir, tmp_path / "code", model), OnRay(cluster.address)
    )
    assert "Transform runs on Ray, on 3 nodes with 3 processors" in capfd.readouterr().out
    expected, found = list_contents(here), list_contents(there)
    assert found.keys() == expected.keys()
    assert len([place for place in found if place[2].startswith("Split-train/data")]) > 8
    assert len([place for place in found if place[2].startswith("prediction_logs")]) > 4
    different = [place for place in found if found[place] != expected[place]]
    assert {Path(name).name for _, _, name in different} <= OWN_PATHS


def test_a_lost_node_costs_its_shards_and_nothing_else(cluster, data_dir, tmp_path, here):
    chance = random.Random("nodes")
    expected = list_contents({step: here[step] for step in ("CsvExampleGen", "StatisticsGen")})
    seconds, number, num_killed = 8.0, 0, 0
    while num_killed < KILLS:
        fill(cluster)
        number += 1
        nodes = sorted(cluster.worker_nodes, key=lambda node: node.unique_id)
        victim, moment = chance.choice(nodes), chance.uniform(0.2, seconds)
        timer = threading.Timer(moment, cluster.remove_node, [victim], {"allow_graceful": False})
        began = time.monotonic()
        timer.start()
        root = tmp_path / str(number)
        there = run(root, make_steps(data_dir, tmp_path / "code"), OnRay(cluster.address))
        took = time.monotonic() - began
        timer.join()
        found = list_contents({step: there[step] for step in ("CsvExampleGen", "StatisticsGen")})
        assert found == expected
        leftovers = [path for path in root.rglob(".*") if path.name.startswith(".writing")]
        assert leftovers == []
        print(f"a node killed after {moment:.1f} s: {took:.1f} s in all, and the same files")
        num_killed += moment < took  # of a run that was quicker, it says nothing
        seconds = min(seconds, took * 0.8)


def test_an_error_of_a_shard_ends_the_step_with_its_text(cluster, data_dir, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for path in Path(data_dir).iterdir():
        (folder / path.name).write_text(path.read_text())
    with (folder / "00017.csv").open("a") as file:
        file.write("1.5,w1\n")
    with pytest.raises(StepFailed, match=r"00017\.csv, line 1002: the row has 2 cells"):
        run(tmp_path / "root", [CsvExampleGen(str(folder))], OnRay(cluster.address))
    assert list((tmp_path / "root").rglob("data_tfrecord*")) == []


def die(_):
    os.kill(os.getpid(), 9)


def test_a_shard_that_kills_every_process_is_given_up(cluster):
    task = Task(
        pipeline_name="p",
        run_id="r",
        node_id="n",
        execution_id=1,
        executor="stoker.x:X",
        cluster_address=cluster.address,
        import_paths=(str(Path(__file__).parent),),
    )
    with RayPool(task) as pool, pytest.raises(StepFailed, match="has lost a shard 4 times"):
        list(pool.map(die, [0]))
