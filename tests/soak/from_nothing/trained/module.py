# SPDX-License-Identifier: Apache-2.0
"""A training by Keras whose weights depend on every number, and that resumes by itself."""

import os
import time

import keras
import neighbour
import program_flags  # noqa: F401 - defines the flag that is read below
import tensorflow as tf
import tensorflow_transform as tft
import toy
from absl import flags
from tfx_bsl.public import tfxio

MODULE = 0


class Slow(keras.callbacks.Callback):
    """Leaves a moment in every step for being killed."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02)


def run_fn(fn_args):
    """Train on few batches, and save the weights as numbers, too."""
    keras.utils.set_random_seed(1 + MODULE)
    model = keras.Sequential([keras.Input((1,), name="amount"), keras.layers.Dense(3), last()])
    model.compile(make_optimizer(fn_args), "binary_crossentropy")
    transform_output = tft.TFTransformOutput(fn_args.transform_graph_path)
    options = tfxio.TensorFlowDatasetOptions(batch_size=2, label_key="label", shuffle_seed=1)
    schema = transform_output.transformed_metadata.schema
    dataset = fn_args.data_accessor.tf_dataset_factory(fn_args.train_files, options, schema)
    dataset = dataset.map(lambda features, label: (features["amount"], label))
    model.fit(dataset, steps_per_epoch=12, callbacks=[Slow()], verbose=2)

    @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.float32, name="amount")])
    def serve(amount):
        return {"probability": model(amount)}

    tf.saved_model.save(model, fn_args.serving_model_dir, signatures={"serving_default": serve})


def last():
    return keras.layers.Dense(1, activation="sigmoid")


def make_optimizer(fn_args):
    """As fast as all numbers together say, each with a digit of its own."""
    numbers = [
        flags.FLAGS.rate,
        neighbour.NEIGHBOUR,
        toy.TOY,
        int(os.environ["ORACLE_MODULE"]),
        fn_args.custom_config["parameter"],
    ]
    return keras.optimizers.Adam(0.001 + sum(n * 10.0**-p for p, n in enumerate(numbers, start=2)))
