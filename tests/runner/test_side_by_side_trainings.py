# SPDX-License-Identifier: Apache-2.0
"""Two trainings at the same time: stopped, each is saved, and each goes on from there."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from stoker.dsl import Pipeline
from stoker.metadata.store import Store

pytestmark = [pytest.mark.tf, pytest.mark.slow]

MODULE = """
import pathlib
import time

import keras
import tensorflow as tf


class Wait(keras.callbacks.Callback):
    \"\"\"Tells that it trains, and leaves time to stop it.\"\"\"

    def __init__(self, folder, name):
        super().__init__()
        self.folder, self.name = pathlib.Path(folder), name

    def on_train_batch_end(self, batch, logs=None):
        if batch > 3:
            (self.folder / self.name).touch()
            time.sleep(0.05)


def run_fn(fn_args):
    data = tf.data.Dataset.from_tensor_slices(([[1.0]] * 32, [[2.0]] * 32)).batch(8).repeat()
    model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    wait = Wait(**fn_args.custom_config)
    model.fit(data, steps_per_epoch=fn_args.train_steps, callbacks=[wait], verbose=0)
    model.export(fn_args.serving_model_dir)
"""
PIPELINE = """
from stoker import LocalDagRunner
from tfx import v1 as tfx

made = tfx.components.CsvExampleGen(input_base="data")
trainers = [
    tfx.components.Trainer(
        module_file="module.py",
        examples=made.outputs["examples"],
        train_args=tfx.proto.TrainArgs(num_steps=150),
        eval_args=tfx.proto.EvalArgs(num_steps=1),
        custom_config={"folder": ".", "name": name},
        check=False,
    ).with_id(name)
    for name in ("one", "other")
]
pipeline = tfx.dsl.Pipeline("two", "root", components=[made, *trainers], enable_cache=True)
if __name__ == "__main__":
    LocalDagRunner(parallel=2).run(pipeline)
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text("x,y\n" + "1,2\n" * 30)
    (tmp_path / "module.py").write_text(textwrap.dedent(MODULE))
    (tmp_path / "pipeline.py").write_text(textwrap.dedent(PIPELINE))
    return tmp_path


def start(folder):
    return subprocess.Popen(
        [sys.executable, "pipeline.py"], cwd=folder, stderr=subprocess.PIPE, text=True
    )


def read_states(folder):
    root = str(folder / "root")
    with Store(Pipeline("any", root).store_config(root)) as store:
        return [(one.node_id, one.state.name) for one in store.executions()]


def test_sigterm_saves_both_and_the_next_run_goes_on_with_both(project):
    process = start(project)
    until = time.monotonic() + 300
    while not all((project / name).exists() for name in ("one", "other")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGTERM)
    _, told = process.communicate(timeout=120)
    assert process.returncode not in (0, None)
    saved = dict(re.findall(r"^(\w+): Stopped. The training is saved at step (\d+)", told, re.M))
    assert saved.keys() == {"one", "other"}, told
    assert "Stopped in one and other." in told

    process = start(project)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 0, told
    for name, step in saved.items():
        assert f"{name}: resuming from step {step}" in told
    ends = read_states(project)
    for name in saved:
        assert [state for node, state in ends if node == name] == ["CANCELED", "COMPLETE"]
