# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the chief or of another worker in the middle of training: it ends by itself.

STOKER_KILLS says how often each of them is killed, each time at another step.
"""

import json
import os
import random
import signal
import textwrap
import threading
import time
from pathlib import Path

import pytest

from stoker.artifacts import Examples
from stoker.components.trainer.component import Trainer
from stoker.dsl import Pipeline, as_channel
from stoker.errors import StepFailed
from stoker.proto.trainer_pb2 import TrainArgs
from stoker.runner import LocalDagRunner
from stoker.task import Workers

pytestmark = [pytest.mark.tf, pytest.mark.slow]

KILLS = int(os.environ.get("STOKER_KILLS", "1"))
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


def kill_at(step, notes, victim, killed):
    """Kill the victim's process when the chief has done a step, and note when."""
    while not (done := steps_of(notes, "chief")) or done[-1][0] < step:
        time.sleep(0.01)
    os.kill(steps_of(notes, victim)[-1][2], signal.SIGKILL)
    killed.append(time.time())


def train(folder, workers, missing=None):
    """Train with two processes that leave notes."""
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
    LocalDagRunner().run(Pipeline("kills", str(folder / "root"), components=[trainer]))


def train_and_kill(folder, victim, step):
    """When the victim was killed, and the notes that the processes have left."""
    notes, killed = folder / "notes", []
    killer = threading.Thread(target=kill_at, args=(step, notes, victim, killed), daemon=True)
    killer.start()
    train(folder, Workers(2))
    killer.join(10)
    return killed[0], notes


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc")
@pytest.mark.parametrize("victim", ["chief", "worker"])
def test_training_ends_by_itself_with_the_right_number_of_steps(tmp_path, monkeypatch, victim):
    monkeypatch.setenv("STOKER_CHECKPOINT_SECONDS", str(CHECKPOINT_SECONDS))
    chance = random.Random(victim)
    for number in range(KILLS):
        step = chance.randrange(2, NUM_STEPS - 5)
        killed_at, notes = train_and_kill(tmp_path / str(number), victim, step)
        done = steps_of(notes, "chief")
        assert (notes / "counted").read_text() == str(NUM_STEPS)
        assert {step for step, _, _ in done} == set(range(1, NUM_STEPS + 1))
        last_pid = done[-1][2]
        resumed, at, _ = next(one for one in done if one[2] == last_pid)
        first_time = next(when for step, when, _ in done if step == resumed)
        assert killed_at - first_time <= CHECKPOINT_SECONDS + SLACK_SECONDS, "too much done again"
        assert at - killed_at < 60


def test_a_process_that_does_not_join_the_others_is_found_by_the_deadline(tmp_path):
    with pytest.raises(StepFailed, match=r"worker-0 \(process \d+ .*has not made the strategy"):
        train(tmp_path, Workers(2, join_seconds=10), missing="worker")
