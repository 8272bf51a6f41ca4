# SPDX-License-Identifier: Apache-2.0
"""A program for the tests: trains in many ways, once as a whole and once with a crash in between.

python resumed_training.py 2|3 FOLDER [WAY…]
"""

import collections
import dataclasses
import json
import os
import resource
import sys
from pathlib import Path

KERAS, FOLDER = int(sys.argv[1]), Path(sys.argv[2])
os.environ["TF_USE_LEGACY_KERAS"] = "1" if KERAS == 2 else "0"
os.environ["STOKER_CHECKPOINT_SECONDS"] = "0"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from stoker.any_python.surroundings import fresh_seed  # noqa: E402
from stoker.data.row_order import mark_as_from_accessor  # noqa: E402
from stoker.training import checkpoint, log_metrics, watch  # noqa: E402
from stoker.training.resume.checkpoints import prepare_to_resume  # noqa: E402
from stoker.user_code.fn_args import FnArgs  # noqa: E402
from stoker.views.model_tables import read_curves  # noqa: E402

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
        log_metrics(step + 1, loss=loss)
        if step + 1 == crash_at:
            raise Crash
        saved.save_if_due(step + 1)
    return weights(model)


@dataclasses.dataclass
class Best:
    loss: float = 1e9
    variable: tf.Variable | None = None


class Mutters(keras.callbacks.Callback):
    """Sets the learning rate from everything that it remembers, of every kind."""

    def __init__(self):
        super().__init__()
        self.recent = collections.deque(maxlen=4)
        self.seen = set()
        self.numpy = np.random.default_rng(3)
        self.tensorflow = tf.random.Generator.from_seed(4)
        self.best = Best(variable=tf.Variable(0.0))
        self.averages = {"loss": [tf.Variable(0.5)]}
        self.last = tf.constant(0.0)

    def on_train_batch_end(self, batch, logs=None):
        loss = float(logs["loss"])
        self.recent.append(loss)
        self.seen.add(batch % 5)
        self.best.loss = min(self.best.loss, loss)
        self.best.variable.assign_add(0.001)
        self.averages["loss"][0].assign(0.9 * self.averages["loss"][0] + 0.1 * loss)
        self.last = tf.reduce_min([self.last, loss])
        self.model.optimizer.learning_rate = float(
            0.01
            + 0.001 * (self.numpy.random() + self.tensorflow.uniform(()) + sum(self.recent))
            + 0.0001 * (len(self.seen) + self.best.loss + self.best.variable + self.last)
            + 0.0001 * self.averages["loss"][0]
        )


def callbacks_with_state(crash_at):
    model = sequential()
    model.compile("adam", "mse")
    model.fit(followed(), steps_per_epoch=12, callbacks=[Mutters(), CrashAt(crash_at)])
    return weights(model)


def variables_outside(crash_at):
    count = tf.Variable(0.0)
    kept = tf.Variable(0.0)

    class Counting(Lazy):
        def train_step(self, data):
            x, y = data
            count.assign_add(1.0)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x, training=True) - y) ** 2) * count
            trained = [tf.convert_to_tensor(one) for one in self.trainable_variables]
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            kept.assign(0.9 * kept + 0.1 * tf.reduce_sum(trained[0]))
            return {"loss": loss}

    model = Counting()
    model.compile("adam", jit_compile=False)
    model.fit(followed(), steps_per_epoch=12, callbacks=[CrashAt(crash_at)])
    return [weights(model), float(count), float(kept)]


class Noisy(keras.layers.Layer):
    def call(self, inputs):
        return inputs + tf.random.normal(tf.shape(inputs))


class Counts(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.numbers = (number for number in range(99))


def what_nobody_can_read(crash_at):
    model = keras.Sequential([keras.layers.Dense(1), Noisy(name="noisy")])
    model.compile("sgd", "mse", jit_compile=False)
    model.fit(followed(), steps_per_epoch=12, callbacks=[Counts(), CrashAt(crash_at)])
    return int(model.optimizer.iterations)


def steps_that_run_eagerly(crash_at):
    model = sequential()
    model.compile("sgd", "mse", run_eagerly=True)
    model.fit(followed(), steps_per_epoch=12, callbacks=[CrashAt(crash_at)])
    return weights(model)


class DiskIsFull(keras.callbacks.Callback):
    """No file may be longer than a few bytes, from one step to another."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 2:
            self.unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, self.unlimited[1]))
        if batch == 5:
            resource.setrlimit(resource.RLIMIT_FSIZE, self.unlimited)


def full_disk(crash_at):
    model = sequential()
    model.compile("adam", "mse")
    callbacks = [DiskIsFull(), CrashAt(crash_at and crash_at - 1)]
    model.fit(followed(), steps_per_epoch=12, callbacks=callbacks)
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
    run = folder.with_name(f"{folder.name}-until-{crash_at}")
    FN_ARGS = FnArgs(checkpoint_dir=str(folder), model_run_dir=str(run))
    if way is full_disk:
        FN_ARGS.model_run_dir = None
    notes = []
    prepare_to_resume(FN_ARGS.checkpoint_dir)
    keras.utils.set_random_seed(1)
    with watch(FN_ARGS, node="Trainer", report=lambda record: notes.append(record.get("text"))):
        try:
            result = way(crash_at)
        except Crash:
            result = None
    curves = read_curves(str(run)).get("loss", {})
    return {"result": result, "notes": [note for note in notes if note], "curves": curves}


def main():
    found = {}
    ways = (several_steps_at_once, unusual_optimizer, two_devices, loop)
    ways += (callbacks_with_state, variables_outside, full_disk, steps_that_run_eagerly)
    others = (shuffled_by_the_module, arrays, drawn_seed, what_nobody_can_read)
    for way in (*ways, *others):
        if way.__name__ not in (sys.argv[3:] or [way.__name__]):
            continue
        folder = FOLDER / way.__name__
        found[way.__name__] = {
            "whole": attempt(way, folder / "whole", 0) if way in ways else None,
            "crashed": attempt(way, folder / "parts", 7),
            "resumed": attempt(way, folder / "parts", 0),
            "later": attempt(way, folder / "parts", 0) if way is drawn_seed else None,
        }
    (FOLDER / "found.json").write_text(json.dumps(found))


main()
