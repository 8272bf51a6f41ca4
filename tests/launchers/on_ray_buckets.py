# SPDX-License-Identifier: Apache-2.0
"""Ray with three nodes that share no folder, neither with each other nor with the runner: a root
in a bucket. The chief's node is lost in the middle of a training, which goes on from the bucket.
"""

import json
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from on_ray_nodes import kill_node

sys.path.insert(0, str(Path(__file__).parents[1] / "storage"))

from bucket_server import serve

pytestmark = [pytest.mark.tf, pytest.mark.slow]

NUM_STEPS = 120
MODULE = """
    import json, os, time
    import tensorflow as tf
    import tensorflow_transform as tft

    def preprocessing_fn(inputs):
        return {"a": tft.scale_to_z_score(inputs["a"]), "y": inputs["y"]}

    def run_fn(fn_args):
        role = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
        notes = fn_args.custom_config["notes"]
        for path in (*fn_args.train_files, fn_args.transform_graph_path, fn_args.serving_model_dir):
            assert path.startswith(os.environ["STOKER_CACHE_DIR"]), path
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        tf.keras.utils.set_random_seed(3)
        files = tf.io.gfile.glob(fn_args.train_files)
        records = tf.data.TFRecordDataset(files, compression_type="GZIP")
        spec = {name: tf.io.FixedLenFeature([1], tf.float32) for name in "ay"}

        def parse(record):
            found = tf.io.parse_single_example(record, spec)
            return {"a": found["a"]}, found["y"]

        sharding = tf.data.Options()
        policy = tf.data.experimental.AutoShardPolicy.DATA
        sharding.experimental_distribute.auto_shard_policy = policy
        data = records.map(parse).batch(8).repeat().with_options(sharding)

        class Note(tf.keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                with open(os.path.join(notes, role), "a") as file:
                    here = os.environ["STOKER_CACHE_DIR"]
                    print(json.dumps([batch + 1, os.getpid(), here]), file=file)
                time.sleep(0.1)

        with strategy.scope():
            a = tf.keras.Input((1,), name="a")
            model = tf.keras.Model({"a": a}, tf.keras.layers.Dense(1)(a))
            model.compile("sgd", "mse")
        model.fit(data, steps_per_epoch=fn_args.train_steps, callbacks=[Note()])
        model.save(fn_args.serving_model_dir)
"""


def steps_of(notes, role):
    path = notes / role
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("]")]


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    from ray.cluster_utils import Cluster

    with serve() as server:
        for name, value in server.environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("STOKER_CHECKPOINT_SECONDS", "0.5")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        for number in range(3):
            monkeypatch.setenv("STOKER_CACHE_DIR", str(tmp_path / f"node-{number}"))
            cluster.add_node(num_cpus=1)
        monkeypatch.setenv("STOKER_CACHE_DIR", str(tmp_path / "home"))
        yield cluster
        cluster.shutdown()


def make_pipeline(url, notes, store):
    import tensorflow_model_analysis as tfma
    from tfx import v1 as tfx

    from stoker.task import Workers

    example_gen = tfx.components.CsvExampleGen(input_base=f"{url}/data")
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    transform = tfx.components.Transform(
        examples=example_gen.outputs["examples"],
        schema=schema_gen.outputs["schema"],
        module_file=f"{url}/module.py",
    )
    trainer = tfx.components.Trainer(
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        module_file=f"{url}/module.py",
        train_args=tfx.proto.TrainArgs(num_steps=NUM_STEPS),
        custom_config={"notes": str(notes)},
        workers=Workers(2),
    )
    evaluator = tfx.components.Evaluator(
        examples=transform.outputs["transformed_examples"],
        model=trainer.outputs["model"],
        eval_config=tfma.EvalConfig(
            model_specs=[tfma.ModelSpec(label_key="y")],
            slicing_specs=[tfma.SlicingSpec()],
            metrics_specs=[
                tfma.MetricsSpec(metrics=[tfma.MetricConfig(class_name="MeanSquaredError")])
            ],
        ),
    )
    return tfx.dsl.Pipeline(
        pipeline_name="nodes",
        pipeline_root=f"{url}/root",
        components=[example_gen, statistics_gen, schema_gen, transform, trainer, evaluator],
        enable_cache=True,
        metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
            str(store)
        ),
    )


def test_training_resumes_on_another_node_from_the_checkpoint_in_the_bucket(cluster, tmp_path):
    import s3fs

    from stoker.launchers.on_ray import OnRay
    from stoker.runner import LocalDagRunner

    files = s3fs.S3FileSystem(use_listings_cache=False)
    files.mkdir("team")
    rows = "".join(f"{n / 10},{n / 5}\n" for n in range(300))
    files.pipe_file("team/data/a.csv", f"a,y\n{rows}".encode())
    files.pipe_file("team/module.py", textwrap.dedent(MODULE).encode())
    notes = tmp_path / "notes"
    notes.mkdir()
    killed = []

    def kill_in_time():
        while not files.glob("team/root/.stoker/checkpoints/Trainer/**/*.npz"):
            time.sleep(0.3)
        while len(steps_of(notes, "chief")) < 40:
            time.sleep(0.05)
        step, pid, folder = steps_of(notes, "chief")[-1]
        killed.append((step, folder))
        kill_node(cluster, pid)

    killer = threading.Thread(target=kill_in_time, daemon=True)
    killer.start()
    pipeline = make_pipeline("s3://team", notes, tmp_path / "m.db")
    LocalDagRunner(OnRay(cluster.address)).run(pipeline)
    killer.join(10)

    done = steps_of(notes, "chief")
    last_pid = done[-1][1]
    resumed, _, folder = next(one for one in done if one[1] == last_pid)
    print(f"the chief was lost at step {killed[0][0]}, and went on at step {resumed}")
    assert folder != killed[0][1]
    assert 1 < resumed <= killed[0][0] + 1
    assert done[-1][0] == NUM_STEPS
    assert files.glob("team/root/Evaluator/evaluation/*")
    assert files.glob("team/root/Trainer/model/*/Format-Serving/saved_model.pb")
    assert not files.find("team/root/.stoker/checkpoints")
    homes = [path for path in (tmp_path / "home" / "trees").rglob("*") if path.is_file()]
    assert {path.name for path in homes if path.suffix != ".lock"} == {"module.py"}, homes
