# SPDX-License-Identifier: Apache-2.0
"""A project of TFX 0.14, with the names of that time, runs as it is to a served model."""

import subprocess
import sys

import pytest

PIPELINE = """
import logging
import os

from tfx.components.evaluator.component import Evaluator
from tfx.components.example_gen.csv_example_gen.component import CsvExampleGen
from tfx.components.example_validator.component import ExampleValidator
from tfx.components.model_validator.component import ModelValidator
from tfx.components.pusher.component import Pusher
from tfx.components.schema_gen.component import SchemaGen
from tfx.components.statistics_gen.component import StatisticsGen
from tfx.components.trainer.component import Trainer
from tfx.components.transform.component import Transform
from tfx.orchestration import pipeline
from tfx.orchestration.beam.beam_runner import BeamRunner
from tfx.proto import evaluator_pb2
from tfx.proto import pusher_pb2
from tfx.proto import trainer_pb2
from tfx.utils.dsl_utils import csv_input

_home = os.getcwd()
_module_file = os.path.join(_home, 'trip_utils.py')


def _create_pipeline():
  examples = csv_input(os.path.join(_home, 'data'))
  example_gen = CsvExampleGen(input_base=examples)
  statistics_gen = StatisticsGen(input_data=example_gen.outputs.examples)
  infer_schema = SchemaGen(stats=statistics_gen.outputs.output)
  validate_stats = ExampleValidator(
      stats=statistics_gen.outputs.output, schema=infer_schema.outputs.output)
  transform = Transform(
      input_data=example_gen.outputs.examples,
      schema=infer_schema.outputs.output,
      module_file=_module_file)
  trainer = Trainer(
      module_file=_module_file,
      transformed_examples=transform.outputs.transformed_examples,
      schema=infer_schema.outputs.output,
      transform_output=transform.outputs.transform_output,
      train_args=trainer_pb2.TrainArgs(num_steps=40),
      eval_args=trainer_pb2.EvalArgs(num_steps=1))
  model_analyzer = Evaluator(
      examples=example_gen.outputs.examples,
      model_exports=trainer.outputs.output,
      feature_slicing_spec=evaluator_pb2.FeatureSlicingSpec(specs=[
          evaluator_pb2.SingleSlicingSpec(column_for_slicing=['hour'])
      ]))
  model_validator = ModelValidator(
      examples=example_gen.outputs.examples, model=trainer.outputs.output)
  pusher = Pusher(
      model_export=trainer.outputs.output,
      model_blessing=model_validator.outputs.blessing,
      push_destination=pusher_pb2.PushDestination(
          filesystem=pusher_pb2.PushDestination.Filesystem(
              base_directory=os.path.join(_home, 'serving_model'))))
  return pipeline.Pipeline(
      pipeline_name='trips',
      pipeline_root=os.path.join(_home, 'pipelines'),
      components=[
          example_gen, statistics_gen, infer_schema, validate_stats, transform,
          trainer, model_analyzer, model_validator, pusher
      ],
      enable_cache=True,
      metadata_db_root=os.path.join(_home, 'metadata'),
      additional_pipeline_args={
          'logger_args': {'log_root': '/var/tmp/tfx/logs', 'log_level': logging.INFO}
      })


BeamRunner().run(_create_pipeline())
"""

MODULE = """
import tensorflow as tf
import tensorflow_model_analysis as tfma
import tensorflow_transform as tft
from tensorflow_transform.tf_metadata import schema_utils


def _fill_in_missing(x):
  # A schema of that time says no shape: features are sparse.
  return tf.squeeze(
      tf.compat.v1.sparse_to_dense(x.indices, [x.dense_shape[0], 1], x.values, 0), axis=1)


def preprocessing_fn(inputs):
  return {
      'miles_xf': tft.scale_to_z_score(_fill_in_missing(inputs['miles'])),
      'big_tip_xf': _fill_in_missing(inputs['big_tip']),
  }


def _read(filenames, transformed):
  return tf.data.experimental.make_batched_features_dataset(
      filenames, 20, transformed.transformed_feature_spec(),
      reader=lambda files: tf.data.TFRecordDataset(files, compression_type='GZIP'),
      label_key='big_tip_xf')


def trainer_fn(hparams, schema):
  transformed = tft.TFTransformOutput(hparams.transform_output)
  raw_spec = schema_utils.schema_as_feature_spec(schema).feature_spec

  def serving_receiver_fn():
    asked = {key: spec for key, spec in raw_spec.items() if key != 'big_tip'}
    raw = tf.estimator.export.build_parsing_serving_input_receiver_fn(asked)()
    features = transformed.transform_raw_features(raw.features)
    return tf.estimator.export.ServingInputReceiver(features, raw.receiver_tensors)

  def eval_input_receiver_fn():
    serialized = tf.compat.v1.placeholder(tf.string, [None], name='input_example_tensor')
    raw = tf.io.parse_example(serialized, raw_spec)
    features = transformed.transform_raw_features(raw)
    return tfma.export.EvalInputReceiver(
        labels=features.pop('big_tip_xf'),
        features={**raw, **features},
        receiver_tensors={'examples': serialized})

  estimator = tf.estimator.LinearClassifier(
      [tf.feature_column.numeric_column('miles_xf')],
      config=tf.estimator.RunConfig(model_dir=hparams.serving_model_dir))
  return {
      'estimator': estimator,
      'train_spec': tf.estimator.TrainSpec(
          lambda: _read(hparams.train_files, transformed), max_steps=hparams.train_steps),
      'eval_spec': tf.estimator.EvalSpec(
          lambda: _read(hparams.eval_files, transformed), steps=hparams.eval_steps,
          exporters=[tf.estimator.FinalExporter('trips', serving_receiver_fn)]),
      'eval_input_receiver_fn': eval_input_receiver_fn,
  }
"""


@pytest.mark.tf
@pytest.mark.slow
def test_a_project_of_0_14_runs_to_a_served_model(tmp_path):
    (tmp_path / "data").mkdir()
    rows = [f"{miles},{miles % 24},{int(miles > 30)}" for miles in range(60)]
    (tmp_path / "data" / "trips.csv").write_text("\n".join(["miles,hour,big_tip", *rows]))
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "trip_utils.py").write_text(MODULE)
    done = subprocess.run(
        [sys.executable, "pipeline.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("serving_model/*/saved_model.pb"))
    assert list(tmp_path.glob("pipelines/ModelValidator/blessing/*/BLESSED"))
    assert list(tmp_path.glob("pipelines/Evaluator/evaluation/*/metrics*"))
    assert (tmp_path / "metadata" / "metadata.db").is_file()
