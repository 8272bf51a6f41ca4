# SPDX-License-Identifier: Apache-2.0
"""Modules of every kind that users write, trained side by side by real workers."""

import contextlib
import io
import pickle
from pathlib import Path

import pytest
from training import served, train, write

from stoker.errors import StepFailed

pytestmark = pytest.mark.usefixtures("warm")

# The way of TFX's older examples: tf.keras, two spaces, a dataset from a parsing spec.
KERAS_2 = """
import tensorflow as tf
from tensorflow import keras
from keras.callbacks import LambdaCallback
from tfx.components.trainer.fn_args_utils import FnArgs

_SPEC = {
    'flipper_length_mm': tf.io.VarLenFeature(tf.int64),
    'species': tf.io.FixedLenFeature([1], tf.string),
}


def _features(parsed):
  flipper = tf.sparse.reset_shape(parsed['flipper_length_mm'], [tf.shape(parsed['species'])[0], 1])
  return {'flipper': (tf.cast(tf.sparse.to_dense(flipper, 200), tf.float32) - 200.) / 14.}


def _input_fn(file_pattern, batch_size=32):
  dataset = tf.data.TFRecordDataset(tf.io.gfile.glob(file_pattern), compression_type='GZIP')
  dataset = dataset.repeat().batch(batch_size)

  def _parse(serialized):
    parsed = tf.io.parse_example(serialized, _SPEC)
    return _features(parsed), tf.cast(parsed['species'] == 'Gentoo', tf.float32)

  return dataset.map(_parse)


def run_fn(fn_args: FnArgs):
  assert tf.keras.__version__.startswith('2.'), tf.keras.__version__
  epochs = []
  inputs = {'flipper': keras.layers.Input(shape=(1,), name='flipper')}
  outputs = keras.layers.Dense(1, activation='sigmoid', kernel_initializer='ones')(
      inputs['flipper'])
  model = keras.Model(inputs=inputs, outputs=outputs)
  model.compile(optimizer=keras.optimizers.Adam(lr=0.1), loss='binary_crossentropy')
  model.fit(
      _input_fn(fn_args.train_files),
      steps_per_epoch=fn_args.train_steps,
      validation_data=_input_fn(fn_args.eval_files),
      validation_steps=fn_args.eval_steps,
      callbacks=[LambdaCallback(on_epoch_end=lambda epoch, logs: epochs.append(epoch))],
      verbose=0)
  assert epochs == [0]

  @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name='examples')])
  def serve(serialized):
    spec = dict(_SPEC, species=tf.io.FixedLenFeature([1], tf.string, default_value=['']))
    return {'gentoo': model(_features(tf.io.parse_example(serialized, spec)))}

  model.save(fn_args.serving_model_dir, save_format='tf', signatures={'serving_default': serve})
"""

# The way of newer code: Keras by its own name, the data through data_accessor.
KERAS_3 = """
import keras
import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx import v1 as tfx
from tfx_bsl.public import tfxio


def features_of(row):
    bill = row["bill_depth_mm"]
    bill = tf.sparse.to_dense(tf.sparse.reset_shape(bill, [bill.dense_shape[0], 1]), 17.0)
    return (bill - 17.0) / 2.0


def run_fn(fn_args: tfx.components.FnArgs):
    assert keras.__version__.startswith("3."), keras.__version__
    schema = tfx.utils.parse_pbtxt_file(fn_args.schema_path, schema_pb2.Schema())
    options = tfxio.TensorFlowDatasetOptions(batch_size=32, label_key="species")
    rows = fn_args.data_accessor.tf_dataset_factory(fn_args.train_files, options, schema)
    data = rows.map(lambda row, label: (features_of(row), tf.cast(label == "Gentoo", tf.float32)))
    dense = keras.layers.Dense(1, "sigmoid", kernel_initializer="zeros")
    model = keras.Sequential([keras.Input((1,)), dense])
    model.compile(keras.optimizers.Adam(learning_rate=0.1), "binary_crossentropy")
    model.fit(data, steps_per_epoch=fn_args.train_steps, verbose=0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def serve(serialized):
        spec = {"bill_depth_mm": tf.io.VarLenFeature(tf.float32)}
        return {"gentoo": model(features_of(tf.io.parse_example(serialized, spec)))}

    tf.saved_model.save(model, fn_args.serving_model_dir, signatures={"serving_default": serve})
"""

# No Keras at all: variables, a tape, and tf.saved_model.
CUSTOM_LOOP = """
import tensorflow as tf

SPEC = {
    'body_mass_g': tf.io.VarLenFeature(tf.int64),
    'species': tf.io.FixedLenFeature([], tf.string, ''),
}


def parse(serialized):
  row = tf.io.parse_example(serialized, SPEC)
  mass = tf.sparse.reset_shape(row['body_mass_g'], [tf.size(serialized), 1])
  mass = tf.cast(tf.sparse.to_dense(mass, 4200), tf.float32)
  return (mass[:, 0] - 4200.) / 800., tf.cast(row['species'] == 'Gentoo', tf.float32)


class Line(tf.Module):

  def __init__(self):
    super().__init__()
    self.slope = tf.Variable(0.)
    self.offset = tf.Variable(0.)

  @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
  def __call__(self, serialized):
    mass, _ = parse(serialized)
    return {'gentoo': tf.sigmoid(self.slope * mass + self.offset)}


def run_fn(fn_args):
  line = Line()
  files = tf.io.gfile.glob(fn_args.train_files)
  records = tf.data.TFRecordDataset(files, compression_type='GZIP').repeat().batch(64)
  losses = []
  for serialized in records.take(fn_args.train_steps):
    mass, label = parse(serialized)
    with tf.GradientTape() as tape:
      logits = line.slope * mass + line.offset
      loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(label, logits))
    for variable, gradient in zip(line.variables, tape.gradient(loss, line.variables)):
      variable.assign_sub(gradient)
    losses.append(float(loss))
  assert losses[-1] < losses[0]
  writer = tf.summary.create_file_writer(fn_args.model_run_dir)
  with writer.as_default():
    tf.summary.scalar('loss', losses[-1], step=len(losses))
  tf.saved_model.save(line, fn_args.serving_model_dir, signatures=line.__call__)
"""

# A model that TensorFlow has nothing to do with.
SKLEARN = """
import os
import pickle
import sys

from sklearn.linear_model import LogisticRegression


def run_fn(fn_args):
  assert 'tensorflow' not in sys.modules
  model = LogisticRegression().fit([[0.], [1.], [2.], [3.]], [0, 0, 1, 1])
  os.makedirs(fn_args.serving_model_dir)
  with open(os.path.join(fn_args.serving_model_dir, 'model.pkl'), 'wb') as f:
    pickle.dump(model, f)
"""


@pytest.fixture(scope="module")
def side_by_side(tmp_path_factory, penguins):
    """One pipeline with modules for both versions of Keras, for neither, and without TensorFlow."""
    modules = {
        "keras_2": KERAS_2,
        "keras_3": KERAS_3,
        "custom_loop": CUSTOM_LOOP,
        "sklearn_model": SKLEARN,
    }
    folder, said = tmp_path_factory.mktemp("models"), io.StringIO()
    with contextlib.redirect_stderr(said):
        run = train(folder, penguins, modules, ["keras_2", "keras_3", "custom_loop"], steps=200)
    return run, said.getvalue()


@pytest.mark.tf
@pytest.mark.parametrize("name", ["keras_2", "keras_3", "custom_loop"])
def test_models_of_both_keras_and_of_neither_are_trained_and_served(side_by_side, name):
    run, _ = side_by_side
    answer = {key: value[0].value for key, value in run.outputs[f"ask_{name}"].items()}
    assert answer["answers"] > 100
    assert 0 <= answer["lowest"] < 0.4
    assert 0.6 < answer["highest"] <= 1


@pytest.mark.tf
@pytest.mark.parametrize(
    "line",
    [
        "keras_2: Keras 2, because keras_2.py:3 imports tensorflow.keras.",
        "keras_3: Keras 3, because keras_3.py:2 imports keras, and nothing uses tf.keras.",
        "custom_loop: Keras 2, because custom_loop.py names no Keras, and code written for TFX "
        "expects Keras 2.",
    ],
)
def test_each_module_is_told_why_it_got_its_keras(side_by_side, line):
    _, said = side_by_side
    assert line in said.splitlines()


@pytest.mark.tf
def test_a_model_of_another_library_is_published_as_it_was_written(side_by_side):
    run, said = side_by_side
    model = pickle.loads(Path(served(run, "sklearn_model"), "model.pkl").read_bytes())
    assert list(model.predict([[0.0], [3.0]])) == [0, 1]
    assert "sklearn_model: Keras" not in said


@pytest.mark.tf
def test_what_a_loop_writes_to_model_run_dir_is_published_too(side_by_side):
    run, _ = side_by_side
    (model_run,) = run.outputs["custom_loop"]["model_run"]
    assert list(Path(model_run.uri).rglob("events.out.tfevents.*"))


# Nothing in this text speaks for a Keras, so that the switch alone decides.
SAYS_ITS_KERAS = """
import os
import tensorflow as tf

def run_fn(fn_args):
  os.makedirs(fn_args.serving_model_dir)
  with open(os.path.join(fn_args.serving_model_dir, 'keras'), 'w') as f:
    f.write(getattr(tf, 'keras').__version__)
"""

NEEDS_KERAS_2 = """
import keras

def run_fn(fn_args):
  model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
  model.save(fn_args.serving_model_dir)
"""

NEEDS_KERAS_3 = """
import tensorflow as tf

def run_fn(fn_args):
  print(tf.keras.ops.sum([1, 2]))
"""


@pytest.mark.tf
def test_the_switch_wins_over_what_the_module_imports(tmp_path, penguins, capfd):
    file = write(tmp_path, "module", SAYS_ITS_KERAS)
    trainers = {f"keras_{n}": {"module_file": file, "keras": n} for n in (2, 3)}
    run = train(tmp_path, penguins, trainers)
    versions = [Path(served(run, name), "keras").read_text()[0] for name in trainers]
    assert versions == ["2", "3"]
    assert "keras_3: Keras 3, because keras=3 was given." in capfd.readouterr().err


@pytest.mark.tf
@pytest.mark.parametrize(
    ("text", "switch"),
    [(NEEDS_KERAS_2, 2), (NEEDS_KERAS_3, 3)],
    ids=["for Keras 2", "for Keras 3"],
)
def test_a_failure_of_the_wrong_keras_names_the_switch(tmp_path, penguins, text, switch):
    with pytest.raises(StepFailed, match=rf"Try Trainer\(keras={switch}\)"):
        train(tmp_path, penguins, {"Trainer": text})
