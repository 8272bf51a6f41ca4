# SPDX-License-Identifier: Apache-2.0
"""A program for the tests: trains in many ways, once as a whole and once with a crash in between.

python resumed_training.py 2|3 FOLDER
"""

import json
import os
import sys
from pathlib import Path

KERAS, FOLDER = int(sys.argv[1]), Path(sys.argv[2])
os.environ["TF_USE_LEGACY_KERAS"] = "1" if KERAS == 2 else "0"
os.environ["STOKER_CHECKPOINT_SECONDS"] = "0"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from stoker.data.row_order import mark_as_from_accessor  # noqa: E402
from stoker.data.seeds import fresh_seed  # noqa: E402
from stoker.training import checkpoint, watch  # noqa: E402
from stoker.training.resume.checkpointer import prepare_to_resume  # noqa: E402
from stoker.user_code.fn_args import FnArgs  # noqa: E402

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
keras = tf.keras
X = np.random.RandomState(0).rand(96, 3).astype("float32")
Y = X.sum(axis=1, keepdims=True)


class Crash(Exception):
    """What happens in the middle."""


class CrashAt(keras.callbacks.Callback):
    def __init__(self, step):
        super().__init__()
        self.at = str(step)  # not a number, which would be restored to what it was
        self.steps = 0

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if str(self.steps) == self.at:
            raise Crash


def followed():
    """Batches that count as the data accessor's."""
    rows = mark_as_from_accessor(tf.data.Dataset.from_tensor_slices((X, Y)))
    return rows.map(lambda x, y: (x * 2.0, y)).batch(8).repeat().prefetch(2)


class Lazy(keras.Model):
    """A model that has no variables before its first step."""

    def __init__(self):
        super().__init__()
        self.hidden = keras.layers.Dense(4, activation="relu")
        self.dropout = keras.layers.Dropout(0.5)
        self.out = keras.layers.Dense(1)

    def call(self, inputs, training=None):
        return self.out(self.dropout(self.hidden(inputs), training=training))


def sequential():
    return keras.Sequential([keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])


def weights(model):
    return [weight.tolist() for weight in model.get_weights()]


def several_steps_at_once(crash_at):
    model = Lazy()
    model.compile("adam", "mse", steps_per_execution=3)
    history = model.fit(followed(), steps_per_epoch=12, epochs=2, callbacks=[CrashAt(crash_at)])
    return [weights(model), history.history]


def unusual_optimizer(crash_at):
    model = sequential()
    inner = keras.optimizers.legacy.Adam(0.01) if KERAS == 2 else keras.optimizers.SGD(0.01, 0.9)
    scaled = keras.mixed_precision.LossScaleOptimizer(inner)
    model.compile(inner if KERAS == 2 else scaled, "mse")
    model.fit(followed(), steps_per_epoch=12, callbacks=[CrashAt(crash_at)])
    return weights(model)


def two_devices(crash_at):
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = sequential()
        model.compile("adam", "mse", metrics=["mae"])
    history = model.fit(followed(), steps_per_epoch=12, callbacks=[CrashAt(crash_at)])
    return [weights(model), history.history]


def loop(crash_at):
    model, optimizer = Lazy(), keras.optimizers.Adam(0.01)
    model(X[:8])
    saved = checkpoint(FN_ARGS, model=model, optimizer=optimizer)
    for step in range(saved.step, 12):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(X[step : step + 8], training=True) - 1.0) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        if step + 1 == crash_at:
            raise Crash
        saved.save_if_due(step + 1)
    return weights(model)


def shuffled_by_the_module(crash_at):
    model = sequential()
    model.compile("sgd", "mse")
    data = followed().shuffle(5)
    model.fit(data, steps_per_epoch=12, epochs=2, callbacks=[CrashAt(crash_at)])
    return int(model.optimizer.iterations)


def arrays(crash_at):
    model = sequential()
    model.compile("sgd", "mse")
    model.fit(X, Y, batch_size=8, epochs=2, callbacks=CrashAt(crash_at))
    return int(model.optimizer.iterations)


def drawn_seed(crash_at):
    if crash_at == 7:
        raise Crash
    return fresh_seed()


def attempt(way, folder, crash_at):
    global FN_ARGS
    FN_ARGS = FnArgs(checkpoint_dir=str(folder))
    notes = []
    prepare_to_resume(FN_ARGS.checkpoint_dir)
    keras.utils.set_random_seed(1)
    with watch(FN_ARGS, node="Trainer", report=lambda record: notes.append(record.get("text"))):
        try:
            result = way(crash_at)
        except Crash:
            result = None
    return {"result": result, "notes": [note for note in notes if note]}


def main():
    found = {}
    ways = (several_steps_at_once, unusual_optimizer, two_devices, loop)
    for way in (*ways, shuffled_by_the_module, arrays, drawn_seed):
        folder = FOLDER / way.__name__
        found[way.__name__] = {
            "whole": attempt(way, folder / "whole", 0) if way in ways else None,
            "crashed": attempt(way, folder / "parts", 7),
            "resumed": attempt(way, folder / "parts", 0),
            "later": attempt(way, folder / "parts", 0) if way is drawn_seed else None,
        }
    (FOLDER / "found.json").write_text(json.dumps(found))


main()
