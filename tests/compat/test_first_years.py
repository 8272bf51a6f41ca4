# SPDX-License-Identifier: Apache-2.0
"""A project of TFX's first years, run as it is from a folder with an awkward name."""

import subprocess
import sys

import pytest

# The imports, arguments and attribute style of TFX 0.2x.
PIPELINE = """
from tfx.components import CsvExampleGen, SchemaGen, StatisticsGen, Trainer
from tfx.components.base import executor_spec
from tfx.components.trainer.executor import GenericExecutor
from tfx.orchestration import metadata, pipeline
from tfx.orchestration.beam.beam_dag_runner import BeamDagRunner
from tfx.proto import example_gen_pb2, trainer_pb2
from tfx.utils.dsl_utils import external_input

_splits = [
    example_gen_pb2.SplitConfig.Split(name='train', hash_buckets=4),
    example_gen_pb2.SplitConfig.Split(name='eval', hash_buckets=1)]


def _create_pipeline(data):
  example_gen = CsvExampleGen(
      input=external_input(data),
      output_config=example_gen_pb2.Output(
          split_config=example_gen_pb2.SplitConfig(splits=_splits)))
  statistics_gen = StatisticsGen(examples=example_gen.outputs['examples'])
  infer_schema = SchemaGen(
      statistics=statistics_gen.outputs['statistics'], infer_feature_shape=False)
  trainers = [
      Trainer(
          instance_name=name,
          module_file=name + '.py',
          custom_executor_spec=executor_spec.ExecutorClassSpec(GenericExecutor),
          examples=example_gen.outputs.examples,
          schema=infer_schema.outputs.schema,
          train_args=trainer_pb2.TrainArgs(num_steps=50),
          eval_args=trainer_pb2.EvalArgs(num_steps=5))
      for name in ('pools', 'sessions')]
  return pipeline.Pipeline(
      pipeline_name='old',
      pipeline_root='my root',
      components=[example_gen, statistics_gen, infer_schema] + trainers,
      enable_cache=True,
      metadata_connection_config=metadata.sqlite_metadata_connection_config('my meta/db.sqlite'),
      beam_pipeline_args=['--direct_num_workers=0'],
      additional_pipeline_args={})


if __name__ == '__main__':
  import sys
  BeamDagRunner().run(_create_pipeline(sys.argv[1]))
"""

# What a worker must not forbid: processes of the module's own, another working directory.
POOLS = """
import multiprocessing
import os


def square(x):
  return x * x


def run_fn(fn_args):
  for method in ('spawn', 'fork'):
    with multiprocessing.get_context(method).Pool(2) as pool:
      assert pool.map(square, [1, 2, 3]) == [1, 4, 9]
  os.chdir('/')
  os.makedirs(fn_args.serving_model_dir)
  with open(os.path.join(fn_args.serving_model_dir, 'model'), 'w') as f:
    f.write('9')
"""

# TensorFlow 1's own way, before there was eager execution.
SESSIONS = """
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def run_fn(fn_args):
  x = tf.placeholder(tf.float32, [None], name='x')
  w = tf.get_variable('w', initializer=1.0)
  y = w * x
  loss = tf.reduce_mean(tf.square(y - 2 * x))
  train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(fn_args.train_steps):
      session.run(train, {x: [1., 2.]})
    assert abs(session.run(w) - 2) < .01
    tf.saved_model.simple_save(session, fn_args.serving_model_dir, {'x': x}, {'y': y})
"""


@pytest.mark.tf
def test_a_project_of_the_first_years_runs_as_it_is(tmp_path, penguins):
    folder = tmp_path / "my projéct"
    folder.mkdir()
    for name, text in {"pipeline": PIPELINE, "pools": POOLS, "sessions": SESSIONS}.items():
        (folder / f"{name}.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "pipeline.py", penguins],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    models = {one.name: one for one in folder.glob("my root/Trainer.*/model/*/Format-Serving/*")}
    assert {"model", "saved_model.pb"} <= set(models)
    assert (folder / "my meta" / "db.sqlite").is_file()
