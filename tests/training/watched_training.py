# SPDX-License-Identifier: Apache-2.0
"""A program for the tests: trains in one way under `watch`, with its progress on a Console.

python training.py keras2|keras3|loop FOLDER
"""

import json
import os
import sys
from pathlib import Path

WAY, FOLDER = sys.argv[1], Path(sys.argv[2])
os.environ["TF_USE_LEGACY_KERAS"] = "1" if WAY == "keras2" else "0"

import tensorflow as tf  # noqa: E402

from stoker.runner.console import Console  # noqa: E402
from stoker.training import log_metrics, watch  # noqa: E402
from stoker.training.fit_progress import _FitProgress, _make_callback  # noqa: E402
from stoker.training.session import Session  # noqa: E402
from stoker.user_code.fn_args import FnArgs  # noqa: E402

keras = tf.keras
X = tf.random.stateless_uniform([320, 4], seed=[1, 2])
Y = tf.reduce_sum(X, axis=1, keepdims=True)
DATA = tf.data.Dataset.from_tensor_slices((X, Y)).batch(32)


class OwnFit(keras.Sequential):
    """A model with a `fit` of its own."""

    def fit(self, *args, **kwargs):
        print("my own fit")
        return super().fit(*args, **kwargs)


class Seen(keras.callbacks.Callback):
    """A callback of the user's, which notes that it was called."""

    epochs = 0

    def on_epoch_end(self, epoch, logs=None):
        Seen.epochs += 1


class WaitForReader(keras.callbacks.Callback):
    """Goes on only when the test has read what is on disk, so that training surely still runs."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 5:
            print("half way", flush=True)
            sys.stdin.readline()


def compiled(kind=keras.Sequential, **options):
    model = kind([keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", metrics=["mae"], **options)
    return model


def fit_in_every_way():
    compiled().fit(DATA, epochs=2, validation_data=DATA, callbacks=[WaitForReader()])
    compiled(OwnFit).fit(X, Y, 32, 1, 0, [Seen()])  # callbacks by position
    compiled(steps_per_execution=4).fit(DATA, callbacks=Seen())
    board = keras.callbacks.TensorBoard(str(FOLDER), update_freq="epoch")
    compiled().fit(DATA, callbacks=[board])
    compiled().fit(DATA.filter(lambda *_: True), epochs=3)  # nobody knows how many steps there are


def loop():
    for step in range(1, 11):
        log_metrics(step, loss=tf.constant(1.0 / step))
        if step == 5:
            print("half way", flush=True)
            sys.stdin.readline()


def main():
    console, reports = Console(), []

    def report(record):
        reports.append(record)
        console.event({"node": "Trainer", **record})

    fn_args = FnArgs(model_run_dir=str(FOLDER), train_steps=10)
    original = keras.Model.fit
    with watch(fn_args, report=report):
        loop() if WAY == "loop" else fit_in_every_way()
    assert keras.Model.fit is original
    console.close()
    result = {"reports": reports, "epochs_seen": Seen.epochs}
    if WAY == "keras2":
        callback = _make_callback(keras, _FitProgress, Session(fn_args, report), {})
        callbacks = keras.callbacks.CallbackList([callback], add_history=True)
        result["logs_stay_tensors"] = callbacks._batch_hooks_support_tf_logs
    (FOLDER / "result.json").write_text(json.dumps(result))


main()
