# SPDX-License-Identifier: Apache-2.0
"""A program for the tests: a training that is killed at random steps until it has ended.

python killed_training.py 2|3 FOLDER NUM_KILLS SEED

Every attempt is a fork of this process, which has imported TensorFlow and run nothing.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

KERAS, FOLDER, NUM_KILLS, SEED = int(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:])
os.environ["TF_USE_LEGACY_KERAS"] = "1" if KERAS == 2 else "0"
os.environ["STOKER_CHECKPOINT_SECONDS"] = "0"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from stoker.data.row_order import mark_as_from_accessor  # noqa: E402
from stoker.training import watch  # noqa: E402
from stoker.training.resume.checkpoints import prepare_to_resume  # noqa: E402
from stoker.user_code.fn_args import FnArgs  # noqa: E402

keras = tf.keras if KERAS == 2 else __import__("keras")
NUM_EPOCHS, NUM_STEPS = 3, 400
X = np.random.RandomState(0).rand(96, 3).astype("float32")
Y = X.sum(axis=1, keepdims=True)


def data():
    rows = mark_as_from_accessor(tf.data.Dataset.from_tensor_slices((X, Y)))
    return rows.batch(8).repeat().prefetch(2)


def kill_at(model, step):
    while int(model.optimizer.iterations) < step:
        time.sleep(0.0005)
    os.kill(os.getpid(), signal.SIGKILL)


def train(folder, step):
    prepare_to_resume(str(folder))
    keras.utils.set_random_seed(1)
    layers = keras.layers
    hidden = [layers.Dense(4, activation="relu"), layers.Dropout(0.5)]
    model = keras.Sequential([*hidden, layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    if step:
        threading.Thread(target=kill_at, args=(model, step), daemon=True).start()
    notes, calls = [], []

    def note(record):
        notes.append(record.get("text"))
        calls.append(record.get("steps_per_call") or 0)

    fn_args = FnArgs(checkpoint_dir=str(folder), model_run_dir=str(folder / "run"))
    given = {"validation_data": data(), "validation_steps": 5}
    with watch(fn_args, report=note):
        history = model.fit(data(), steps_per_epoch=NUM_STEPS, epochs=NUM_EPOCHS, **given)
    weights = [weight.tolist() for weight in model.get_weights()]
    return {
        "result": repr([weights, history.history, int(model.optimizer.iterations)]),
        "notes": [text for text in notes if text],
        "most_per_call": max(calls),
    }


def attempt(folder, step=None):
    """What a training told; None if it was killed."""
    told = folder.with_suffix(".json")
    pid = os.fork()
    if pid == 0:
        told.write_text(json.dumps(train(folder, step)))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or status == 0, status
    return None if killed else json.loads(told.read_text())


def main():
    choose = random.Random(SEED)
    steps = sorted(choose.randrange(2, NUM_EPOCHS * NUM_STEPS) for _ in range(NUM_KILLS))
    for folder in ("whole", "parts"):
        (FOLDER / folder).mkdir(parents=True)
    found = {
        "whole": attempt(FOLDER / "whole"),
        "killed": [attempt(FOLDER / "parts", step) is None for step in steps],
        "resumed": attempt(FOLDER / "parts"),
    }
    (FOLDER / "found.json").write_text(json.dumps(found))


main()
