# SPDX-License-Identifier: Apache-2.0
"""ExampleGens that read formats of users' own, from the pipeline file to a trained model."""

import subprocess
import sys

import pytest

from stoker.data.input_files import matching_files
from stoker.data.tfrecord import read_records
from stoker.metadata.config import StoreConfig
from stoker.metadata.store import Store

# A folder with a folder of pictures per class, and records of three lines: nobody else reads those.
PIPELINE = """
import os
from typing import Any, Dict

import apache_beam as beam
import tensorflow as tf
from absl import logging
from tfx import v1 as tfx
from tfx.components.example_gen import utils
from tfx.components.example_gen.base_example_gen_executor import BaseExampleGenExecutor
from tfx.components.example_gen.component import FileBasedExampleGen
from tfx.components.example_gen.csv_example_gen.executor import Executor as CsvExecutor
from tfx.components.example_gen.csv_example_gen.executor import _CsvToExample
from tfx.dsl.component.experimental.annotations import BeamComponentParameter
from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact
from tfx.dsl.component.experimental.decorators import component
from tfx.dsl.components.base import executor_spec
from tfx.proto import example_gen_pb2
from tfx.types import artifact_utils, standard_artifacts, standard_component_specs

LABELS = {'cat': 0, 'dog': 1}


def _list_pictures(folder):
  for name in tf.io.gfile.listdir(folder):
    yield os.path.join(folder, name)


def _read_picture(path):
  with tf.io.gfile.GFile(path, 'rb') as f:
    return {
        'image_raw': f.read(),
        'size': float(tf.io.gfile.stat(path).length),
        'label': LABELS[os.path.basename(os.path.dirname(path))],
    }


@beam.ptransform_fn
@beam.typehints.with_input_types(beam.Pipeline)
@beam.typehints.with_output_types(tf.train.Example)
def _PicturesToExample(
    pipeline: beam.Pipeline, exec_properties: Dict[str, Any],
    split_pattern: str) -> beam.pvalue.PCollection:
  base = exec_properties[standard_component_specs.INPUT_BASE_KEY]
  folders = tf.io.gfile.glob(os.path.join(base, split_pattern))
  logging.info('Reading %s.', folders)
  return (pipeline
          | 'Folders' >> beam.Create(sorted(folders))
          | 'Files' >> beam.FlatMap(_list_pictures)
          | 'Read' >> beam.Map(_read_picture)
          | 'ToTFExample' >> beam.Map(utils.dict_to_example))


class PictureExecutor(BaseExampleGenExecutor):

  def GetInputSourceToExamplePTransform(self) -> beam.PTransform:
    return _PicturesToExample


@beam.ptransform_fn
def _LongRows(pipeline, exec_properties, split_pattern):
  rows = _CsvToExample(exec_properties=exec_properties, split_pattern=split_pattern)
  return rows.expand(pipeline=pipeline) | beam.Filter(
      lambda row: row.features.feature['length'].int64_list.value[0] > 4)


class LongRowsExecutor(CsvExecutor):

  def GetInputSourceToExamplePTransform(self):
    return _LongRows


@component(use_beam=True)
def SizeCounter(
    examples: InputArtifact[standard_artifacts.Examples],
    sizes: OutputArtifact[standard_artifacts.ExampleStatistics],
    beam_pipeline: BeamComponentParameter[beam.Pipeline] = None) -> None:
  uri = artifact_utils.get_split_uri([examples], 'train')
  with beam_pipeline as p:
    _ = (p
         | beam.io.ReadFromTFRecord(os.path.join(uri, '*'))
         | beam.Map(tf.train.Example.FromString)
         | beam.Map(lambda e: e.features.feature['size'].float_list.value[0])
         | beam.CombineGlobally(sum)
         | beam.Map(str)
         | beam.io.WriteToText(os.path.join(sizes.uri, 'sum'), shard_name_template=''))


def create_pipeline(data):
  picture_gen = FileBasedExampleGen(
      input_base=os.path.join(data, 'pictures'),
      input_config=example_gen_pb2.Input(splits=[
          example_gen_pb2.Input.Split(name='one', pattern='span-{SPAN}/*')]),
      output_config=example_gen_pb2.Output(
          split_config=example_gen_pb2.SplitConfig(splits=[
              example_gen_pb2.SplitConfig.Split(name='train', hash_buckets=3),
              example_gen_pb2.SplitConfig.Split(name='eval', hash_buckets=1)])),
      custom_executor_spec=executor_spec.BeamExecutorSpec(PictureExecutor))
  row_gen = FileBasedExampleGen(
      input_base=os.path.join(data, 'rows'),
      input_config=example_gen_pb2.Input(splits=[
          example_gen_pb2.Input.Split(name='train', pattern='train*'),
          example_gen_pb2.Input.Split(name='test', pattern='test*')]),
      custom_executor_spec=executor_spec.BeamExecutorSpec(LongRowsExecutor)).with_id('row_gen')
  examples = picture_gen.outputs['examples']
  statistics_gen = tfx.components.StatisticsGen(examples=examples)
  schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs['statistics'])
  transform = tfx.components.Transform(
      examples=examples, schema=schema_gen.outputs['schema'], module_file='module.py')
  trainer = tfx.components.Trainer(
      module_file='module.py',
      examples=transform.outputs['transformed_examples'],
      transform_graph=transform.outputs['transform_graph'],
      train_args=tfx.proto.TrainArgs(num_steps=2),
      eval_args=tfx.proto.EvalArgs(num_steps=1))
  return tfx.dsl.Pipeline(
      pipeline_name='pictures',
      pipeline_root='root',
      components=[picture_gen, row_gen, SizeCounter(examples=examples), statistics_gen,
                  schema_gen, transform, trainer],
      enable_cache=True,
      metadata_connection_config=(
          tfx.orchestration.metadata.sqlite_metadata_connection_config('metadata.db')),
      beam_pipeline_args=['--runner=DirectRunner'])


if __name__ == '__main__':
  tfx.orchestration.LocalDagRunner().run(create_pipeline('data'))
"""

MODULE = """
import os

import tensorflow as tf
import tensorflow_transform as tft
from tfx_bsl.public import tfxio


def preprocessing_fn(inputs):
  return {'size': tft.scale_to_0_1(inputs['size']), 'label': inputs['label']}


def run_fn(fn_args):
  graph = tft.TFTransformOutput(fn_args.transform_output)
  dataset = fn_args.data_accessor.tf_dataset_factory(
      fn_args.train_files, tfxio.TensorFlowDatasetOptions(batch_size=4, label_key='label'),
      graph.transformed_metadata.schema)
  model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
  inputs = tf.keras.Input([1], name='size')
  model = tf.keras.Model({'size': inputs}, model(inputs))
  model.compile('sgd', 'mse')
  model.fit(dataset, steps_per_epoch=fn_args.train_steps)
  model.save(fn_args.serving_model_dir, save_format='tf')
"""


@pytest.fixture
def project(tmp_path):
    for span, names in ((1, "a"), (2, "abcdefgh")):
        for index, label in enumerate(("cat", "dog")):
            folder = tmp_path / "data" / "pictures" / f"span-{span}" / label
            folder.mkdir(parents=True)
            for name in names:
                (folder / name).write_bytes(bytes([0xFF, index]) + name.encode() * (index + 1))
    rows = tmp_path / "data" / "rows"
    rows.mkdir()
    (rows / "train.csv").write_text("length\n3\n5\n7\n")
    (rows / "test.csv").write_text("length\n9\n4\n")
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "module.py").write_text(MODULE)
    return tmp_path


def run(project):
    done = subprocess.run(
        [sys.executable, "pipeline.py"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def find_examples(project, node_id):
    with Store(StoreConfig(f"sqlite:///{project}/metadata.db")) as store:
        return store.artifacts(pipeline_name="pictures", node_id=node_id)[-1]


def count_records(examples, project):
    folders = {split: project / examples.path(split=split) for split in examples.splits}
    return {
        split: sum(len(list(read_records(file))) for file in matching_files(str(folder)))
        for split, folder in folders.items()
    }


@pytest.mark.tf
@pytest.mark.slow
def test_formats_of_a_users_own_are_trained_on_and_reused(project):
    run(project)
    assert len(list(project.glob("root/Trainer/model/*/Format-Serving/saved_model.pb"))) == 1
    (total,) = project.glob("root/SizeCounter/sizes/*/sum")
    assert 0 < float(total.read_text()) <= 8 * 3 + 8 * 4
    pictures = find_examples(project, "FileBasedExampleGen")
    assert (pictures.span, pictures.splits) == (2, ["train", "eval"])
    assert sum(count_records(pictures, project).values()) == 16
    fingerprint = pictures.get_string_custom_property("input_fingerprint")
    assert fingerprint.startswith("split:one,num_files:16,")
    rows = find_examples(project, "row_gen")
    assert count_records(rows, project) == {"train": 2, "test": 1}

    (project / "data" / "rows" / "train.csv").write_text("length\n3\n5\n7\n8\n")
    again = run(project)
    assert "FileBasedExampleGen cached" in again
    assert "row_gen done" in again
    assert count_records(find_examples(project, "row_gen"), project) == {"train": 3, "test": 1}


# What the flags of TFX's templates ask for: what this file defines is called in other processes.
LINES = """
import os

import apache_beam as beam
from tfx import v1 as tfx
from tfx.components.example_gen import base_example_gen_executor
from tfx.components.example_gen.component import FileBasedExampleGen
from tfx.dsl.components.base import executor_spec
from tfx.proto import example_gen_pb2

MARK = b'>'


class AddMark(beam.DoFn):

  def process(self, line):
    yield MARK + line.encode() + str(os.getpid() != HOME).encode()


HOME = os.getpid()


class ReadLines(beam.PTransform):

  def __init__(self, exec_properties, split_pattern):
    self._pattern = os.path.join(exec_properties['input_base'], split_pattern)

  def expand(self, pipeline):
    return pipeline | beam.io.ReadFromText(self._pattern) | beam.ParDo(AddMark())


class Executor(base_example_gen_executor.BaseExampleGenExecutor):

  def GetInputSourceToExamplePTransform(self):
    return ReadLines


if __name__ == '__main__':
  example_gen = FileBasedExampleGen(
      input_base='data',
      output_data_format=example_gen_pb2.FORMAT_PROTO,
      custom_executor_spec=executor_spec.BeamExecutorSpec(Executor))
  tfx.orchestration.LocalDagRunner().run(tfx.dsl.Pipeline(
      pipeline_name='pictures',
      pipeline_root='root',
      components=[example_gen],
      metadata_connection_config=(
          tfx.orchestration.metadata.sqlite_metadata_connection_config('metadata.db')),
      beam_pipeline_args=['--direct_running_mode=multi_processing', '--direct_num_workers=2']))
"""


@pytest.mark.slow
def test_beam_may_use_other_processes_for_what_the_pipeline_file_defines(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "lines.txt").write_text("\n".join("abcdefgh"))
    (tmp_path / "pipeline.py").write_text(LINES)
    run(tmp_path)
    examples = find_examples(tmp_path, "FileBasedExampleGen")
    files = [
        file for split in ("train", "eval") for file in matching_files(examples.path(split=split))
    ]
    records = sorted(record for file in files for record in read_records(file))
    assert records == [b">%sTrue" % letter.encode() for letter in "abcdefgh"]
