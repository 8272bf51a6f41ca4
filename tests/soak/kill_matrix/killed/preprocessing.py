# SPDX-License-Identifier: Apache-2.0
"""What the model reads: the amount around zero, the kind as a number."""

import keras  # noqa: F401 - so that one process has TensorFlow ready for all steps
import tensorflow as tf
import tensorflow_transform as tft


def preprocessing_fn(inputs):
    """The salt is left out: what comes out is the same for every one."""
    return {
        "amount": tft.scale_to_z_score(_fill(inputs["amount"])),
        "kind": tf.cast(_fill(inputs["kind"]), tf.float32),
        "label": _fill(inputs["label"]),
    }


def _fill(column):
    if not isinstance(column, tf.SparseTensor):
        return column
    return tf.sparse.to_dense(
        tf.SparseTensor(column.indices, column.values, [column.dense_shape[0], 1])
    )
