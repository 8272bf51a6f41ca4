# SPDX-License-Identifier: Apache-2.0
"""A training whose processes leave notes of every step, to be killed in the middle of it."""

import json
import textwrap
import threading
import time

from stoker.artifacts import Examples
from stoker.components.trainer.component import Trainer
from stoker.dsl import Pipeline, as_channel
from stoker.dsl.proto.trainer_pb2 import TrainArgs
from stoker.runner import LocalDagRunner
from stoker.task import Workers

NUM_STEPS = 60
CHECKPOINT_SECONDS = 0.5
SLACK_SECONDS = 3.0  # between a step and the checkpoint after it, on a machine that is busy

MODULE = """
    import json, os, time
    import numpy, tensorflow as tf

    def run_fn(fn_args):
        role = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
        notes = fn_args.custom_config["notes"]
        if role == fn_args.custom_config["missing"]:
            time.sleep(600)
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        tf.keras.utils.set_random_seed(3)
        x = numpy.random.default_rng(0).normal(size=(64, 4)).astype("float32")
        data = tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1))).batch(16).repeat()
        sharding = tf.data.Options()
        policy = tf.data.experimental.AutoShardPolicy.DATA
        sharding.experimental_distribute.auto_shard_policy = policy

        class Note(tf.keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                with open(os.path.join(notes, role), "a") as file:
                    print(json.dumps([batch + 1, time.time(), os.getpid()]), file=file)
                time.sleep(0.03)

        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
            model.compile("sgd", "mse")
        model.fit(
            data.with_options(sharding), steps_per_epoch=fn_args.train_steps, callbacks=[Note()]
        )
        model.save(fn_args.serving_model_dir)
        with open(os.path.join(notes, "counted"), "w") as file:
            file.write(str(model.optimizer.iterations.numpy()))
"""


def steps_of(notes, role):
    path = notes / role
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("]")]


def train(folder, workers, missing=None, launcher=None):
    """Train with processes that leave notes."""
    notes = folder / "notes"
    notes.mkdir(parents=True)
    (folder / "module.py").write_text(textwrap.dedent(MODULE))
    data = Examples()
    data.uri, data.splits = str(folder / "data"), ["train", "eval"]
    trainer = Trainer(
        examples=as_channel([data]),
        module_file=str(folder / "module.py"),
        train_args=TrainArgs(num_steps=NUM_STEPS),
        custom_config={"notes": str(notes), "missing": missing},
        workers=workers,
        retries=0 if missing else None,
        check=False,
    )
    pipeline = Pipeline("kills", str(folder / "root"), components=[trainer])
    LocalDagRunner(launcher).run(pipeline)


def train_and_kill(folder, step, kill, launcher=None):
    """When `kill` was called, once the chief had done a step, and what the processes noted."""
    notes, killed = folder / "notes", []

    def kill_in_time():
        while not (done := steps_of(notes, "chief")) or done[-1][0] < step:
            time.sleep(0.01)
        killed.append(time.time())
        kill(notes)

    killer = threading.Thread(target=kill_in_time, daemon=True)
    killer.start()
    train(folder, Workers(2), launcher=launcher)
    killer.join(10)
    return killed[0], notes


def check_steps(notes, killed_at):
    """All steps were done, and again only those after the last checkpoint."""
    done = steps_of(notes, "chief")
    assert (notes / "counted").read_text() == str(NUM_STEPS)
    assert {step for step, _, _ in done} == set(range(1, NUM_STEPS + 1))
    last_pid = done[-1][2]
    resumed, at, _ = next(one for one in done if one[2] == last_pid)
    first_time = next(when for step, when, _ in done if step == resumed)
    assert killed_at - first_time <= CHECKPOINT_SECONDS + SLACK_SECONDS, "too much done again"
    assert at - killed_at < 60
