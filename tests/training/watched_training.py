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

from stoker.errors import TrainingDiverged  # noqa: E402
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


NUM_BATCHES = 20
NUMBERS = tf.reshape(tf.range(4.0 * NUM_BATCHES), [-1, 1])
LABELS = tf.cast(NUMBERS > 40.0, tf.float32)


def learn_nothing(numbers=NUMBERS, **options):
    """A fit whose batches have known losses: a batch's is the mean of its numbers."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Rescaling(1.0)])
    by_output = [keras.metrics.AUC(name="auc"), keras.metrics.RootMeanSquaredError(name="rmse")]
    model.compile(
        loss=lambda y, outputs: outputs, metrics=["mae", *by_output], **options.pop("compile", {})
    )
    data = tf.data.Dataset.from_tensor_slices((numbers, LABELS)).batch(4)
    given = {"epochs": 2, "validation_data": data, "validation_freq": 2, **options}
    model.fit(given.pop("data", lambda one: one)(data), **given)


class OwnStep(keras.Model):
    """Its step returns a loss of one batch, not a metric."""

    def train_step(self, data):
        return {"loss": tf.reduce_mean(data[0])}

    def call(self, inputs):
        return inputs


def learn_nothing_by_a_step_of_its_own():
    model = OwnStep()
    model.compile("sgd")
    model.fit(tf.data.Dataset.from_tensor_slices((NUMBERS, LABELS)).batch(4))


def with_nan(batch):
    bad = NUMBERS.numpy()
    bad[4 * batch - 2] = float("nan")
    return bad


CURVES = {
    "two_epochs": learn_nothing,
    "300_steps": lambda: learn_nothing(data=lambda data: data.repeat(15), epochs=1),
    "own_step": learn_nothing_by_a_step_of_its_own,
    "nan": lambda: learn_nothing(with_nan(9)),
    "nan_at_once": lambda: learn_nothing(with_nan(9), compile={"steps_per_execution": 4}),
    "nan_stops": lambda: learn_nothing(with_nan(9)),
}


def draw_curves():
    """What each of CURVES reports besides progress; what it writes is in a folder of its name."""
    told = {}
    for name, train in CURVES.items():
        reports = told[name] = []
        fn_args = FnArgs(model_run_dir=str(FOLDER / "curves" / name))
        try:
            with watch(fn_args, report=reports.append, stop_on_nan=name == "nan_stops"):
                train()
        except TrainingDiverged as error:
            reports.append({"kind": "error", "text": str(error)})
    return {
        name: [one for one in reports if one["kind"] != "progress"]
        for name, reports in told.items()
    }


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
        console.event(record)

    fn_args = FnArgs(model_run_dir=str(FOLDER), train_steps=10)
    original = keras.Model.fit
    with console.show_step("Trainer"), watch(fn_args, report=report):
        loop() if WAY == "loop" else fit_in_every_way()
    assert keras.Model.fit is original
    console.close()
    result = {"reports": reports, "epochs_seen": Seen.epochs}
    if WAY != "loop":
        result["curves"] = draw_curves()
    if WAY == "keras2":
        callback = _make_callback(keras, _FitProgress, Session(fn_args, report), {})
        callbacks = keras.callbacks.CallbackList([callback], add_history=True)
        result["logs_stay_tensors"] = callbacks._batch_hooks_support_tf_logs
    (FOLDER / "result.json").write_text(json.dumps(result))


main()
