"""A wide and deep network."""

import tensorflow as tf
from models import features, training
from models.features import transformed_name
from models.keras_model import constants
from tfx import v1 as tfx


def _build_keras_model():
    inputs = {
        transformed_name(key): tf.keras.layers.Input((1,), name=transformed_name(key), dtype=dtype)
        for keys, dtype in (
            (features.DENSE_FLOAT_FEATURE_KEYS, "float32"),
            (features.CATEGORY_SIZES, "int64"),
        )
        for key in keys
    }
    deep = tf.keras.layers.concatenate(
        [inputs[transformed_name(key)] for key in features.DENSE_FLOAT_FEATURE_KEYS]
    )
    for units in constants.HIDDEN_UNITS:
        deep = tf.keras.layers.Dense(units, activation="relu")(deep)
    wide = [
        tf.keras.layers.CategoryEncoding(size, output_mode="one_hot")(inputs[transformed_name(key)])
        for key, size in features.CATEGORY_SIZES.items()
    ]
    both = tf.keras.layers.concatenate([deep, *wide])
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, activation="sigmoid")(both))
    model.compile(
        optimizer=tf.keras.optimizers.Adam(constants.LEARNING_RATE),
        loss="binary_crossentropy",
        metrics=[tf.keras.metrics.BinaryAccuracy()],
    )
    return model


def run_fn(fn_args: tfx.components.FnArgs):
    """What the Trainer calls."""
    training.train_and_save(_build_keras_model(), fn_args, constants)
