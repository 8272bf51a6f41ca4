# SPDX-License-Identifier: Apache-2.0
"""A program for the tests: trains in many ways, once step by step and once several steps per call.

python trained_at_once.py 2|3 FOLDER [WAY…]
"""

import json
import os
import sys
from pathlib import Path

KERAS, FOLDER = int(sys.argv[1]), Path(sys.argv[2])
os.environ["TF_USE_LEGACY_KERAS"] = "1" if KERAS == 2 else "0"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from stoker.training import watch  # noqa: E402
from stoker.training.resume.checkpoints import prepare_to_resume  # noqa: E402
from stoker.user_code.fn_args import FnArgs  # noqa: E402

keras = tf.keras
layers = keras.layers
X = np.random.RandomState(0).rand(203, 4).astype("float32")
Y = (X.sum(axis=1, keepdims=True) > 2.0).astype("float32")


def batches(size=8):
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(size)


def small(*more):
    model = keras.Sequential(
        [layers.Dense(4, activation="relu"), *more, layers.Dense(1, activation="sigmoid")]
    )
    model.compile("adam", "binary_crossentropy", metrics=["mae"])
    return model


def results(model, history, *more):
    weights = [weight.tolist() for weight in model.get_weights()]
    return [weights, history.history, int(model.optimizer.iterations), *more]


def arrays():
    model = small(layers.BatchNormalization(), layers.Dropout(0.3))
    data = {"validation_split": 0.2, "batch_size": 8, "shuffle": False}
    history = model.fit(X, Y, epochs=3, **data)
    return results(model, history, model.evaluate(X, Y, batch_size=16, verbose=0))


def unknown_length():
    data = batches().filter(lambda *_: True)
    model = small()
    model.compile("sgd", "binary_crossentropy", metrics=[keras.metrics.AUC(name="auc"), "accuracy"])
    history = model.fit(data, epochs=3, validation_data=data)
    return results(model, history, model.evaluate(data, return_dict=True, verbose=0))


def data_that_runs_out():
    model = small()
    return results(model, model.fit(batches(), steps_per_epoch=10, epochs=3))


def read_on():
    model = small(layers.Dropout(0.5))
    data = batches().repeat()
    given = {"steps_per_epoch": 11, "validation_data": data, "validation_steps": 5}
    history = model.fit(data, epochs=4, **given)
    again = model.fit(data, epochs=2, **given)  # with the same functions
    return results(model, history, again.history, model.evaluate(data, steps=9, verbose=0))


def steps_by_division():
    model = small()
    data = batches().repeat()
    given = {"steps_per_epoch": 203 / 8, "validation_data": data, "validation_steps": 203 / 80}
    history = model.fit(data, epochs=2, **given)
    return results(model, history, model.evaluate(data, steps=203 / 80, verbose=0))


class OwnStep(keras.Model):
    """Its step branches, counts, and returns numbers of several types."""

    def __init__(self):
        super().__init__()
        self.out = layers.Dense(1)
        self.count = tf.Variable(0, trainable=False)

    def call(self, inputs):
        return self.out(inputs)

    def train_step(self, data):
        x, y = data
        self.count.assign_add(1)
        factor = tf.cond(self.count % 3 == 0, lambda: 2.0, lambda: 1.0)
        with tf.GradientTape() as tape:
            loss = factor * tf.reduce_mean((self(x, training=True) - y) ** 2)
        variables = self.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return {"loss": loss, "count": self.count.read_value()}


def own_step():
    model = OwnStep()
    model.compile("adam", jit_compile=False)
    return results(model, model.fit(batches().repeat(), steps_per_epoch=20, epochs=2))


def recurrent():
    model = keras.Sequential([keras.Input((4,)), layers.Reshape((4, 1)), layers.GRU(2)])
    model.add(layers.Dense(1))
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9, clipnorm=0.5), "mse")
    return results(model, model.fit(batches().repeat(), steps_per_epoch=15, epochs=2))


class Counts(layers.Layer):
    """Counts how often a model is traced."""

    calls = 0

    def call(self, inputs):
        Counts.calls += 1
        return inputs


def built_before():
    dense = [layers.Dense(size, name=f"dense_of_{size}") for size in (2, 1)]
    model = keras.Sequential([keras.Input((4,)), Counts(), *dense], name="model")
    adam = keras.optimizers.Adam(0.1, name="adam")
    model.compile(adam, "mse", metrics=[keras.metrics.MeanSquaredError()])
    Counts.calls = 0
    history = model.fit(batches().repeat(), steps_per_epoch=15, epochs=2)
    slots = model.optimizer.variables
    slots = slots() if callable(slots) else slots
    named = [[getattr(one, "path", one.name), one.numpy().tolist()] for one in slots]
    return results(model, history, named)


def callbacks_of_keras():
    folder = str(FOLDER / "board")
    kept = keras.callbacks.ModelCheckpoint(f"{folder}/best.weights.h5", save_weights_only=True)
    board = keras.callbacks.TensorBoard(folder, update_freq="epoch")
    stop = keras.callbacks.EarlyStopping(monitor="loss", patience=1, min_delta=9.0)
    slower = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / (1 + epoch))
    model = small()
    given = {"callbacks": [kept, board, stop, slower], "verbose": 2}
    return results(model, model.fit(batches(), epochs=5, **given))


class Sees(keras.callbacks.Callback):
    """Looks at the weights after every batch."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        weights = float(np.sum(self.model.get_weights()[0]))
        self.seen.append([batch, float(logs["loss"]), weights])


def own_callback():
    sees, model = Sees(), small()
    return results(model, model.fit(batches(), epochs=2, callbacks=[sees]), sees.seen)


class Noisy(layers.Layer):
    def call(self, inputs):
        return inputs + tf.random.normal(tf.shape(inputs), seed=3)


def noise_of_tensorflow():
    model = small(Noisy())
    return results(model, model.fit(batches(), epochs=2))


def run_eagerly():
    model = small()
    model.compile("sgd", "mse", run_eagerly=True)
    return results(model, model.fit(batches(64), epochs=2))


def chosen_by_the_module():
    model = small()
    model.compile("sgd", "mse", steps_per_execution=4)
    return results(model, model.fit(batches(), epochs=2))


def bad_loss():
    x = X.copy()
    x[8 * 16] = float("nan")  # in the 17th batch
    model = keras.Sequential([layers.Dense(1)])  # ReLU would make a number of it
    model.compile("sgd", "mse")
    model.fit(tf.data.Dataset.from_tensor_slices((x, Y)).batch(8), epochs=1)
    return int(model.optimizer.iterations)


WAYS = (arrays, unknown_length, data_that_runs_out, read_on, own_step, recurrent)
WAYS += (built_before, callbacks_of_keras, own_callback, noise_of_tensorflow, run_eagerly)
WAYS += (chosen_by_the_module, bad_loss, steps_by_division)


def attempt(way, steps_per_execution):
    folder = FOLDER / f"{way.__name__}-{steps_per_execution}"
    fn_args = FnArgs(checkpoint_dir=str(folder), model_run_dir=str(folder / "run"))
    prepare_to_resume(fn_args.checkpoint_dir)
    keras.utils.set_random_seed(1)
    reports = []
    with watch(fn_args, report=reports.append, steps_per_execution=steps_per_execution):
        result = way()
    last = [one for one in reports if one["kind"] == "progress"][-1]
    return {
        "result": repr(result),
        "step": last["step"],
        "steps_per_call": last["steps_per_call"],
        "why_single": last["why_single"],
        "num_traced": Counts.calls,
        "texts": [one["text"] for one in reports if "text" in one],
    }


def main():
    wanted = sys.argv[3:] or [way.__name__ for way in WAYS]
    found = {
        way.__name__: {str(number): attempt(way, number) for number in (1, 7, None)}
        for way in WAYS
        if way.__name__ in wanted
    }
    (FOLDER / "found.json").write_text(json.dumps(found))


main()
