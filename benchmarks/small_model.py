# SPDX-License-Identifier: Apache-2.0
"""A model and endless data for benchmarks of what is around training, with either Keras."""

import os
import subprocess
import sys
from typing import Any


def with_each_keras(script: str, *options: str) -> None:
    """Run a script in a process for each Keras, whose version it is given before other options."""
    for keras in (2, 3):
        environ = {
            **os.environ,
            "TF_USE_LEGACY_KERAS": "1" if keras == 2 else "0",
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        command = [sys.executable, script, str(keras), *options]
        subprocess.run(command, check=True, env=environ, stderr=subprocess.DEVNULL)


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
