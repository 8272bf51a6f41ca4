# SPDX-License-Identifier: Apache-2.0
"""Names of TensorFlow 1 are there for a user's code, in pipeline files and in modules."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.tf

PROGRAM = """
    import os, sys
    {imports}

    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.gfile.MakeDirs(os.path.join(sys.argv[1], "made"))
    assert tf.flags.DEFINE_string and tf.app.run
    assert tf.train.AdamOptimizer is tf.compat.v1.train.AdamOptimizer
    assert tf.train.Checkpoint is not tf.compat.v1.train.Checkpoint
    for name in ("contrib", "no_such_name"):
        try:
            getattr(tf, name)
        except AttributeError as error:
            print(error)
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
        print(int(session.run(rows)), session.run(tf.to_float(rows)))
    sys.path.append(os.path.join(sys.argv[1], "site-packages"))
    import a_library
    assert not (a_library.IS_OLD or hasattr(a_library.tf.train, "no_such_name"))
"""


@pytest.mark.parametrize(
    "imports", ["import tfx; import tensorflow as tf", "import tensorflow as tf; import tfx"]
)
def test_a_program_finds_them_and_an_installed_package_does_not(run_python, tmp_path, imports):
    (tmp_path / "site-packages").mkdir()
    library = "import tensorflow as tf\nIS_OLD = hasattr(tf, 'Session') or hasattr(tf, 'contrib')"
    (tmp_path / "site-packages" / "a_library.py").write_text(library)
    contrib, unknown, values = run_python(PROGRAM.format(imports=imports), tmp_path).splitlines()
    assert contrib == "tf.contrib ended with TensorFlow 1. Use what replaced it."
    assert unknown == "module 'tensorflow' has no attribute 'no_such_name'"
    assert values == "0 1.0"
    assert (tmp_path / "made").is_dir()


PIPELINE = """
import sys

import tensorflow as tf
from tfx.components import CsvExampleGen, SchemaGen, StatisticsGen, Trainer
from tfx.orchestration import pipeline
from tfx.orchestration.beam.beam_dag_runner import BeamDagRunner
from tfx.proto import trainer_pb2
from tfx.utils.dsl_utils import csv_input

flags = tf.app.flags
flags.DEFINE_string('data', None, 'where the rows are')


def main(_):
  tf.logging.set_verbosity(tf.logging.INFO)
  example_gen = CsvExampleGen(input_base=csv_input(flags.FLAGS.data))
  statistics_gen = StatisticsGen(input_data=example_gen.outputs.examples)
  schema_gen = SchemaGen(stats=statistics_gen.outputs.output)
  trainer = Trainer(
      module_file='module.py', examples=example_gen.outputs.examples,
      schema=schema_gen.outputs.output,
      train_args=trainer_pb2.TrainArgs(num_steps=20),
      eval_args=trainer_pb2.EvalArgs(num_steps=2))
  BeamDagRunner().run(pipeline.Pipeline('old', 'root', components=[
      example_gen, statistics_gen, schema_gen, trainer]))


if __name__ == '__main__':
  tf.app.run(main)
"""
MODULE = """
import tensorflow as tf
import tensorflow_model_analysis as tfma

SPEC = {'size': tf.FixedLenFeature([1], tf.float32),
        'label': tf.FixedLenFeature([1], tf.int64)}


def read(files):
  rows = tf.data.experimental.make_batched_features_dataset(
      files, 20, SPEC, reader=lambda names: tf.data.TFRecordDataset(names, 'GZIP'))
  features = rows.make_one_shot_iterator().get_next()
  return features, features.pop('label')


def serve():
  examples = tf.placeholder(tf.string, [None], name='examples')
  features = tf.parse_example(examples, {'size': SPEC['size']})
  return tf.estimator.export.ServingInputReceiver(features, {'examples': examples})


def evaluate():
  examples = tf.placeholder(tf.string, [None], name='input_example_tensor')
  features = tf.parse_example(examples, SPEC)
  return tfma.export.EvalInputReceiver(
      features=features, receiver_tensors={'examples': examples}, labels=features.pop('label'))


def trainer_fn(hparams, schema):
  estimator = tf.estimator.LinearClassifier(
      [tf.feature_column.numeric_column('size')], n_classes=3,
      config=tf.estimator.RunConfig(model_dir=hparams.serving_model_dir))
  tf.logging.info('training')
  return {
      'estimator': estimator,
      'train_spec': tf.estimator.TrainSpec(
          lambda: read(hparams.train_files), max_steps=hparams.train_steps),
      'eval_spec': tf.estimator.EvalSpec(
          lambda: read(hparams.eval_files), steps=hparams.eval_steps,
          exporters=[tf.estimator.FinalExporter('last', serve)]),
      'eval_input_receiver_fn': evaluate,
  }
"""


def test_a_pipeline_and_a_module_in_its_words_run_as_they_are(tmp_path):
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "module.py").write_text(MODULE)
    (tmp_path / "data").mkdir()
    rows = [f"{size}.5,{size % 3}" for size in range(60)]
    (tmp_path / "data" / "rows.csv").write_text("\n".join(["size,label", *rows]))
    done = subprocess.run(
        [sys.executable, "pipeline.py", "--data=data"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("root/Trainer/model/*/Format-Serving/saved_model.pb"))
