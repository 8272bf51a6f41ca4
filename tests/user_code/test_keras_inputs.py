# SPDX-License-Identifier: Apache-2.0
"""Functions of TensorFlow on Keras's inputs, which only Keras 2 takes."""

import ast

import pytest

from stoker.user_code.keras_choice import find_keras_2_lines

HEAD = "import tensorflow as tf\nfrom tensorflow import keras\n"


def find(text):
    return find_keras_2_lines(ast.parse(HEAD + text))


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("x = tf.keras.Input((1,))\ny = tf.reshape(x, [-1])", "calls tf.reshape on a Keras input"),
        ("x = keras.layers.Input((1,))\ny = tf.concat([x, x], 1)", "calls tf.concat on a Keras"),
        ("def f():\n  i = {}\n  i['a'] = keras.Input((1,))\n  tf.cast(i['a'], 'int64')", "tf.cast"),
        ("def g(d):\n  tf.cast(d['a'], 'int64')\ni = keras.Input((1,))\ng(i)", "calls tf.cast on"),
    ],
)
def test_one_on_an_input_is_found(text, sign):
    ((_, found),) = find(text)
    assert sign in found


@pytest.mark.parametrize(
    "text",
    [
        "x = tf.keras.Input((1,))\ny = tf.keras.layers.Reshape((1,))(x)\nz = keras.Model(x, y)",
        "inputs = keras.Input((1,))\ndef preprocessing_fn(inputs):\n  tf.cast(inputs, 'int64')",
        "def a():\n  x = keras.Input((1,))\ndef b(x):\n  return tf.cast(x, 'int64')\nb(1)",
        "x = tf.constant(1)\ny = tf.cast(x, 'int64')",
        "x = keras.Input((1,))\ny = keras.layers.Lambda(lambda x: tf.cast(x, 'int64'))(x)",
    ],
)
def test_others_are_left_alone(text):
    assert find(text) == []
