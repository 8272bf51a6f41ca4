# SPDX-License-Identifier: Apache-2.0
"""A model and endless data for benchmarks of what is around training."""

from typing import Any


def compiled(width: int, optimizer: str) -> Any:
    import tensorflow as tf

    layers = tf.keras.layers
    hidden = [layers.Dense(width, activation="relu") for _ in range(2)]
    model = tf.keras.Sequential([*hidden, layers.Dense(1)])
    model.compile(optimizer=optimizer, loss="mse", metrics=["mae"])
    return model


def batches() -> Any:
    import tensorflow as tf

    x = tf.random.stateless_uniform([256, 16], seed=[1, 2])
    y = tf.reduce_sum(x, axis=1, keepdims=True)
    return tf.data.Dataset.from_tensors((x, y)).repeat()
