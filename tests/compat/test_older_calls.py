# SPDX-License-Identifier: Apache-2.0
"""A project that calls its libraries as they were called in 2020, from data to a trained model."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.slow]

PIPELINE = """
from tfx.components import CsvExampleGen, SchemaGen, StatisticsGen, Trainer, Transform
from tfx.components.base import executor_spec
from tfx.components.trainer.executor import GenericExecutor
from tfx.orchestration import pipeline
from tfx.orchestration.beam.beam_dag_runner import BeamDagRunner
from tfx.proto import trainer_pb2
from tfx.utils.dsl_utils import external_input

example_gen = CsvExampleGen(input=external_input('data'))
statistics_gen = StatisticsGen(examples=example_gen.outputs['examples'])
schema_gen = SchemaGen(
    statistics=statistics_gen.outputs['statistics'], infer_feature_shape=True)
transform = Transform(
    examples=example_gen.outputs['examples'],
    schema=schema_gen.outputs['schema'],
    module_file='steps/preprocess.py')
trainer = Trainer(
    module_file='steps/train.py',
    custom_executor_spec=executor_spec.ExecutorClassSpec(GenericExecutor),
    examples=transform.outputs['transformed_examples'],
    transform_graph=transform.outputs['transform_graph'],
    schema=schema_gen.outputs['schema'],
    train_args=trainer_pb2.TrainArgs(num_steps=5),
    eval_args=trainer_pb2.EvalArgs(num_steps=2))
BeamDagRunner().run(
    pipeline.Pipeline(
        pipeline_name='calls',
        pipeline_root='root',
        components=[example_gen, statistics_gen, schema_gen, transform, trainer]))
"""

NAMES = "LABEL, FEATURE = 'late', 'grid_xf'"

# Arguments that tensorflow-transform dropped, takes only by name now, and a name that it lost.
PREPROCESS = """
import tensorflow as tf
import tensorflow_transform as tft
from .names import FEATURE, LABEL


def preprocessing_fn(inputs):
  hour = tft.bucketize(inputs['hour'], 4, always_return_num_quantiles=False)
  place = tft.compute_and_apply_vocabulary(inputs['place'], -1, 10)
  word = tft.string_to_int(inputs['word'], top_k=10)
  columns = [tf.cast(one, tf.float32) for one in (hour, place, word)]
  return {FEATURE: tf.concat(columns, axis=1), LABEL: inputs[LABEL]}
"""

# One input without a name, for the one feature; a save_format that was never one.
TRAIN = """
import tensorflow as tf
import tensorflow_transform as tft
from keras.utils.vis_utils import plot_model
from tfx.components.trainer.executor import TrainerFnArgs
from tfx_bsl.tfxio import dataset_options
from .names import FEATURE, LABEL


def run_fn(fn_args: TrainerFnArgs):
  transformed = tft.TFTransformOutput(fn_args.transform_output)

  def read(files):
    return fn_args.data_accessor.tf_dataset_factory(
        files,
        dataset_options.TensorFlowDatasetOptions(batch_size=8, label_key=LABEL),
        transformed.transformed_metadata.schema)

  inputs = tf.keras.Input((3,))
  model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, activation='sigmoid')(inputs))
  model.compile(optimizer=tf.keras.optimizers.Adam(lr=0.01), loss='binary_crossentropy')
  model.fit(
      read(fn_args.train_files), steps_per_epoch=fn_args.train_steps,
      validation_data=read(fn_args.eval_files), validation_steps=fn_args.eval_steps)
  model.layer = transformed.transform_features_layer()

  @tf.function
  def serve(examples):
    spec = transformed.raw_feature_spec()
    spec.pop(LABEL)
    return model(model.layer(tf.io.parse_example(examples, spec)))

  signature = serve.get_concrete_function(tf.TensorSpec([None], tf.string, name='examples'))
  model.save(
      fn_args.serving_model_dir, save_format='tf_keras',
      signatures={'serving_default': signature})
  plot_model(model, to_file='model.png')
"""


def test_calls_of_older_versions_run_to_a_model(tmp_path):
    files = {"pipeline.py": PIPELINE, "data/rows.csv": _make_rows()}
    files |= {"steps/names.py": NAMES, "steps/preprocess.py": PREPROCESS, "steps/train.py": TRAIN}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    ran = subprocess.run(
        [sys.executable, "pipeline.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    (model,) = Path(tmp_path, "root/Trainer/model").glob("*/Format-Serving/saved_model.pb")
    assert model.stat().st_size


def _make_rows():
    pick = random.Random(1)
    rows = [
        (
            f"{pick.uniform(0, 24):.2f}",
            pick.choice("abc"),
            pick.choice("xy"),
            str(pick.randint(0, 1)),
        )
        for _ in range(120)
    ]
    return "\n".join(map(",".join, [("hour", "place", "word", "late"), *rows]))
