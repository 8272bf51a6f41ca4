"""A small network of dense layers."""

import tensorflow as tf
from models import constants, features, training
from tfx import v1 as tfx


def _build_keras_model():
    names = [features.transformed_name(key) for key in features.FEATURE_KEYS]
    inputs = {name: tf.keras.layers.Input(shape=(1,), name=name) for name in names}
    deep = tf.keras.layers.concatenate(list(inputs.values()))
    for _ in range(constants.NUM_LAYERS):
        deep = tf.keras.layers.Dense(constants.HIDDEN_LAYER_UNITS, activation="relu")(deep)
    output = tf.keras.layers.Dense(features.NUM_CLASSES, activation="softmax")(deep)
    model = tf.keras.Model(inputs=inputs, outputs=output)
    model.compile(
        optimizer=tf.keras.optimizers.Adam(constants.LEARNING_RATE),
        loss="sparse_categorical_crossentropy",
        metrics=[tf.keras.metrics.SparseCategoricalAccuracy()],
    )
    return model


def run_fn(fn_args: tfx.components.FnArgs):
    """What the Trainer calls."""
    training.train_and_save(_build_keras_model(), fn_args, constants)
