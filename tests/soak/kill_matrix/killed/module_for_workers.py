# SPDX-License-Identifier: Apache-2.0
"""The same training by two workers that share every batch, without a search before it."""

import keras
import keras_tuner
import tensorflow as tf
import tensorflow_transform as tft
from module import Slow, build_model, make_fit_arguments, save
from tfx import v1 as tfx


def run_fn(fn_args: tfx.components.FnArgs):
    """Train in a group of workers."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = build_model(keras_tuner.HyperParameters())
    transform_output = tft.TFTransformOutput(fn_args.transform_graph_path)
    model.fit(**make_fit_arguments(fn_args, transform_output), callbacks=[Slow()], verbose=2)
    save(model, fn_args, transform_output)
