# SPDX-License-Identifier: Apache-2.0
"""Modules with TensorFlow Hub, whose layers come from a folder of this machine."""

import pytest
from training import served, train

pytest.importorskip("tensorflow_hub")
pytest.importorskip("pkg_resources", reason="the environment was made before setuptools<81")

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]

MODULE = """
import os

import pkg_resources
import tensorflow as tf
import tensorflow_hub as hub

LAYER = {layer!r}


def _write_layer():
  class Lengths(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def __call__(self, sentences):
      return tf.cast(tf.strings.length(sentences), tf.float32)[:, None]
  tf.saved_model.save(Lengths(), LAYER)


def run_fn(fn_args):
  assert pkg_resources.parse_version(hub.__version__) > pkg_resources.parse_version('0.10')
  _write_layer()
  embed = hub.KerasLayer(LAYER, input_shape=[], dtype=tf.string, trainable=False)
  model = tf.keras.Sequential([embed, tf.keras.layers.Dense(1)])
  model.compile(tf.keras.optimizers.Adam(lr=0.01), 'mse')
  model.fit(tf.constant(['a', 'bb']), tf.constant([1., 2.]), verbose=0)
  assert float(hub.load(LAYER)(tf.constant(['abc']))[0, 0]) == 3
  model.save(fn_args.serving_model_dir, save_format='tf')
"""


def test_a_layer_from_a_local_folder_is_trained_on_and_served(tmp_path, penguins):
    run = train(tmp_path, penguins, {"hub": MODULE.format(layer=str(tmp_path / "layer"))})

    assert run.outputs["hub"]["model"][0].get_string_custom_property("model_check")
    assert served(run, "hub")
