# SPDX-License-Identifier: Apache-2.0
"""What the model reads."""

import keras  # noqa: F401 - the Trainer's process will do for this step, too
import tensorflow as tf
import tensorflow_transform as tft

PREPROCESSING = 0


def preprocessing_fn(inputs):
    """The amount around a number."""
    amount = tf.cast(_fill(inputs["amount"]), tf.float32)
    return {
        "amount": tft.scale_to_0_1(amount) + PREPROCESSING,
        "label": _fill(inputs["kind"]) % 2,
    }


def _fill(column):
    if not isinstance(column, tf.SparseTensor):
        return column
    return tf.sparse.to_dense(
        tf.SparseTensor(column.indices, column.values, [column.dense_shape[0], 1])
    )
