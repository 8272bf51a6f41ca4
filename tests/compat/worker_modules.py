# SPDX-License-Identifier: Apache-2.0
"""Modules that train across processes, as users write them: both Keras, and a loop of their own.

Each leaves its losses in `model_run`, and what its own process has exported in a folder of notes.
"""

_DATA = """
import json
import os

import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx import v1 as tfx
from tfx_bsl.public import tfxio

MEASURES = {"bill_length_mm": (44.0, 5.5), "bill_depth_mm": (17.0, 2.0)}


def _row(features, label):
    columns = []
    for name, (mean, deviation) in MEASURES.items():
        column = tf.sparse.reset_shape(features[name], [tf.shape(label)[0], 1])
        columns.append((tf.sparse.to_dense(column, default_value=mean) - mean) / deviation)
    return tf.concat(columns, axis=1), tf.cast(label == "Gentoo", tf.float32)


def _dataset(fn_args):
    schema = tfx.utils.parse_pbtxt_file(fn_args.schema_path, schema_pb2.Schema())
    options = tfxio.TensorFlowDatasetOptions(batch_size=32, label_key="species", shuffle_seed=7)
    dataset = fn_args.data_accessor.tf_dataset_factory(fn_args.train_files, options, schema)
    sharding = tf.data.Options()
    sharding.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return dataset.map(_row).with_options(sharding)


def _find_listening():
    # The addresses at which processes of the cluster listen, as Linux writes them.
    cluster = json.loads(os.environ.get("TF_CONFIG", "{}")).get("cluster", {})
    ports = {"%04X" % int(one.rpartition(":")[2]) for many in cluster.values() for one in many}
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as file:
            for _, local, _, state, *_ in map(str.split, file):
                address, _, port = local.partition(":")
                if state == "0A" and port in ports:
                    found.add(address)
    return sorted(found)


def _note(fn_args, losses, exported):
    print("Listening:", *_find_listening())
    with open(os.path.join(fn_args.model_run_dir, "losses.json"), "w") as file:
        json.dump([float(loss) for loss in losses], file)
    task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"type": "alone"})
    loaded = tf.saved_model.load(exported)
    sums = {
        variable.name: float(tf.reduce_sum(variable)) for variable in loaded.variables
    }
    name = f"{fn_args.custom_config['name']}.{task['type']}"
    with open(os.path.join(fn_args.custom_config["notes"], name), "w") as file:
        json.dump(sums, file)
"""

_FIT = """

def _train(strategy, layer, fn_args, epochs, **compiled):
    with strategy.scope():
        model = keras.Sequential([keras.Input((2,)), layer, keras.layers.Dense(1)])
        model.compile(
            optimizer=keras.optimizers.Adam(1e-2),
            loss=keras.losses.BinaryCrossentropy(from_logits=True),
            **compiled,
        )
    validation = {"validation_data": _dataset(fn_args), "validation_steps": 2}
    history = model.fit(
        _dataset(fn_args),
        epochs=epochs,
        steps_per_epoch=fn_args.train_steps // epochs,
        **(validation if epochs > 1 else {}),
    ).history
    return model, [value for values in history.values() for value in values]
"""

_MANY_FITS = """

def run_fn(fn_args):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(3)
    hidden = keras.layers.Dense(8, activation="relu")
    model, losses = _train(strategy, hidden, fn_args, 2, metrics=["accuracy"])
    losses += model.evaluate(_dataset(fn_args), steps=2)
    losses.append(model.predict(_dataset(fn_args), steps=1).sum())
    hidden = keras.layers.Dense(8, activation="relu")
    _, by_four = _train(strategy, hidden, fn_args, 1, steps_per_execution=4)
    normalized, _ = _train(strategy, keras.layers.BatchNormalization(), fn_args, 1)
    exported = os.path.join(fn_args.model_run_dir, "normalized")
    normalized.export(exported)
    _note(fn_args, losses + by_four, exported)
    SAVE
"""

_ONE_FIT = """

def run_fn(fn_args):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(3)
    hidden = keras.layers.Dense(8, activation="relu")
    model, losses = _train(strategy, hidden, fn_args, 2, metrics=["accuracy"])
    with open(os.path.join(fn_args.model_run_dir, "losses.json"), "w") as file:
        json.dump(losses, file)
    SAVE
"""


_IN_KERAS_2 = f"{_DATA}\nfrom tensorflow import keras\n{_FIT}"
_IN_KERAS_3 = f"{_DATA}\nimport keras\n{_FIT}"
_SAVE = "model.save(fn_args.serving_model_dir, save_format='tf')"
_EXPORT = "model.export(fn_args.serving_model_dir)"

KERAS_2 = _IN_KERAS_2 + _MANY_FITS.replace("SAVE", _SAVE)
KERAS_3 = _IN_KERAS_3 + _MANY_FITS.replace("SAVE", _EXPORT)
KERAS_2_ONCE = _IN_KERAS_2 + _ONE_FIT.replace("SAVE", _SAVE)
KERAS_3_ONCE = _IN_KERAS_3 + _ONE_FIT.replace("SAVE", _EXPORT)

LOOP = (
    _DATA
    + """
import keras

import stoker


def run_fn(fn_args):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(3)
    with strategy.scope():
        hidden = [keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((2,)), *hidden])
        counting = keras.Sequential([keras.Input((2,)), keras.layers.BatchNormalization()])
        optimizer = keras.optimizers.SGD(0.1)
        optimizer.build(model.trainable_variables)
    batches = iter(strategy.experimental_distribute_dataset(_dataset(fn_args)))

    @tf.function
    def step(batch):
        def on_one_replica(batch):
            x, y = batch
            counting(x, training=True)
            with tf.GradientTape() as tape:
                logits = model(x, training=True)
                losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)
                loss = tf.nn.compute_average_loss(losses[:, 0])
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            return loss

        per_replica = strategy.run(on_one_replica, args=(batch,))
        return strategy.reduce("SUM", per_replica, axis=None)

    losses = []
    for number in range(fn_args.train_steps):
        losses.append(step(next(batches)))
        stoker.log_metrics(number + 1, loss=losses[-1])
    exported = os.path.join(fn_args.model_run_dir, "counting")
    counting.export(exported)
    _note(fn_args, losses, exported)
    model.export(fn_args.serving_model_dir)
"""
)

SERVED = (
    _DATA
    + """
from tensorflow import keras


def run_fn(fn_args):
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    strategy = tf.distribute.ParameterServerStrategy(cluster)
    with strategy.scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(1e-2), "mse", steps_per_execution=5)
    model.fit(_dataset(fn_args), steps_per_epoch=fn_args.train_steps)
    print(f"The optimizer counts {int(model.optimizer.iterations)} steps.")
    print("Listening:", *_find_listening())
    model.save(fn_args.serving_model_dir)
"""
)

_MIRRORED = """
import logging

logging.getLogger("tensorflow").setLevel(logging.INFO)


def _train(strategy, fn_args):
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(1e-2), "mse")
    history = model.fit(_dataset(fn_args), steps_per_epoch=fn_args.train_steps).history
    return model, history["loss"]


def run_fn(fn_args):
    (processor,) = tf.config.list_physical_devices("CPU")
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(processor, two)
    _, alone = _train(tf.distribute.get_strategy(), fn_args)
    model, mirrored = _train(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]), fn_args)
    assert abs(alone[0] - mirrored[0]) < 1e-4, (alone, mirrored)
    tf.saved_model.save(model, fn_args.serving_model_dir)
"""
MIRRORED = {
    "mirrored_keras_2": _DATA + "\nfrom tensorflow import keras\n" + _MIRRORED,
    "mirrored_keras_3": _DATA + "\nimport keras\n" + _MIRRORED,
}
