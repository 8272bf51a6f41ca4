# SPDX-License-Identifier: Apache-2.0
"""Writes one small Keras model in the ways that modules do: `python keras_models.py FOLDER`."""

import os
import sys

import tensorflow as tf

SPEC = {"x": tf.io.FixedLenFeature([1], tf.float32), "y": tf.io.FixedLenFeature([1], tf.float32)}


def main(folder: str) -> None:
    inputs = {name: tf.keras.Input((1,), name=name) for name in SPEC}
    outputs = tf.keras.layers.Dense(2)(tf.keras.layers.Concatenate()(list(inputs.values())))
    model = tf.keras.Model(inputs, outputs)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(examples):
        return {"outputs": model(tf.io.parse_example(examples, SPEC))}

    signatures = {"serving_default": serve}
    tf.saved_model.save(model, f"{folder}/save/Format-Serving", signatures=signatures)
    model.export(f"{folder}/export/Format-Serving")
    if os.environ["TF_USE_LEGACY_KERAS"] == "1":
        model.save(f"{folder}/old/Format-Serving", save_format="tf", signatures=signatures)


if __name__ == "__main__":
    main(sys.argv[1])
