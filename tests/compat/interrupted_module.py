"""A user's module that trains twice, and is interrupted where the test says.

It is read as text: the line `KERAS = …` is replaced by the import of one Keras.
"""

import json
import os
import time

import numpy as np
import tensorflow as tf
from tfx_bsl.public import tfxio

KERAS = tf.keras


class Interrupt(KERAS.callbacks.Callback):
    """Sends a signal, to the runner or to this process, at one step of one fit."""

    def __init__(self, fit):
        super().__init__()
        self.fit, self.steps = fit, 0

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if os.environ.get("STOKER_TEST_AT") == f"{self.fit}:{self.steps}":
            os.kill(
                int(os.environ["STOKER_TEST_PID"]) or os.getpid(),
                int(os.environ["STOKER_TEST_SIGNAL"]),
            )
            deadline = time.monotonic() + (1 if int(os.environ["STOKER_TEST_SIGNAL"]) == 15 else 60)
            while time.monotonic() < deadline:  # what is asked of the runner takes a moment
                time.sleep(0.01)


class SlowToLetGo:
    """As a dataset's threads can be, for longer than the runner waits before it asks again."""

    def __del__(self):
        time.sleep(1.5 if os.environ.get("STOKER_TEST_SIGNAL") == "15" else 0)


def batches(fn_args, files, num_epochs, seed):
    options = tfxio.TensorFlowDatasetOptions(
        batch_size=16, label_key="label", shuffle_seed=seed, num_epochs=num_epochs
    )
    dataset = fn_args.data_accessor.tf_dataset_factory(files, options)
    return dataset.map(lambda row, label: (tf.concat([row["a"], row["b"], row["c"]], 1), label))


def compiled():
    layers = KERAS.layers
    model = KERAS.Sequential(
        [
            layers.Dense(8, activation="relu"),
            layers.Dropout(0.5),
            layers.BatchNormalization(),
            layers.Dense(1),
        ]
    )
    rate = float(os.environ.get("RATE", "0.01"))
    model.compile(KERAS.optimizers.Adam(rate), "mse", metrics=["mae"])
    return model


def run_fn(fn_args):
    held = SlowToLetGo()  # noqa: F841
    KERAS.utils.set_random_seed(1)
    model, callbacks = compiled(), KERAS.callbacks
    endless = batches(fn_args, fn_args.train_files, None, 3)
    finite = batches(fn_args, fn_args.train_files, 1, 4)
    validation = batches(fn_args, fn_args.eval_files, 1, 5)
    slower = callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=0.3)
    first = model.fit(
        endless,
        epochs=3,
        steps_per_epoch=10,
        validation_data=validation,
        callbacks=[slower, Interrupt(1)],
    )
    between = model.evaluate(validation, verbose=0)
    early = callbacks.EarlyStopping(patience=2, min_delta=0.05, restore_best_weights=True)
    schedule = callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9)
    second = model.fit(
        finite,
        epochs=8,
        validation_data=validation,
        callbacks=[early, schedule, Interrupt(2)],
    )
    result = {
        "histories": [[fit.history, fit.epoch] for fit in (first, second)],
        "between": between,
        "early": [float(early.best), early.wait, early.stopped_epoch],
        "weights": [weight.tolist() for weight in model.get_weights()],
        "optimizer": [np.asarray(one).tolist() for one in model.optimizer.variables],
        "random": np.random.rand(),
    }
    with open(os.path.join(fn_args.model_run_dir, "result.json"), "w") as file:
        json.dump(result, file, default=float)
    tf.saved_model.save(model, fn_args.serving_model_dir)
