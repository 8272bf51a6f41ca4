# SPDX-License-Identifier: Apache-2.0
"""A scikit-learn model from CSV to Pusher, in the style of TFX 1.x, on data as people have it."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.slow]

TRAINER = """
import os
import pickle

import numpy as np
from sklearn.linear_model import LogisticRegression
from tfx.components.trainer.fn_args_utils import FnArgs
from tfx.dsl.io import fileio
from tfx.utils import io_utils
from tfx_bsl.tfxio import dataset_options
from tensorflow_metadata.proto.v0 import schema_pb2

_FEATURE_KEYS = ['length', 'depth']
_LABEL_KEY = 'species'


def _input_fn(file_pattern, data_accessor, schema):
  options = dataset_options.RecordBatchesOptions(batch_size=20, num_epochs=1)
  features, labels = [], []
  for batch in data_accessor.record_batch_factory(file_pattern, options, schema):
    columns = {field.name: column.flatten() for column, field in zip(batch, batch.schema)}
    labels.append(columns[_LABEL_KEY])
    features.append(np.stack([columns[key] for key in _FEATURE_KEYS], axis=-1))
  return np.concatenate(features), np.concatenate(labels)


def run_fn(fn_args: FnArgs):
  schema = io_utils.parse_pbtxt_file(fn_args.schema_file, schema_pb2.Schema())
  model = LogisticRegression()
  model.fit(*_input_fn(fn_args.train_files, fn_args.data_accessor, schema))
  model.feature_keys, model.label_key = _FEATURE_KEYS, _LABEL_KEY
  os.makedirs(fn_args.serving_model_dir)
  with fileio.open(os.path.join(fn_args.serving_model_dir, 'model.pkl'), 'wb+') as f:
    pickle.dump(model, f)
"""
EVALUATOR = """
import copy
import os
import pickle
from typing import Dict, Iterable, List

import apache_beam as beam
import tensorflow as tf
import tensorflow_model_analysis as tfma
from tfx_bsl.tfxio import tensor_adapter


@beam.typehints.with_input_types(tfma.Extracts)
@beam.typehints.with_output_types(tfma.Extracts)
class _PredictionDoFn(tfma.utils.DoFnWithModels):

  def __init__(self, eval_shared_models: Dict[str, tfma.EvalSharedModel]):
    super().__init__({k: v.model_loader for k, v in eval_shared_models.items()})

  def process(self, elem: tfma.Extracts) -> Iterable[tfma.Extracts]:
    result = copy.copy(elem)
    for name, model in self._loaded_models.items():
      columns = [elem[tfma.FEATURES_KEY][key] for key in model.feature_keys]
      rows = [[cell.item() for cell in row] for row in zip(*columns)]
      result[tfma.LABELS_KEY] = elem[tfma.FEATURES_KEY][model.label_key]
      result[tfma.PREDICTIONS_KEY] = model.predict(rows)
    yield result


@beam.ptransform_fn
@beam.typehints.with_input_types(tfma.Extracts)
@beam.typehints.with_output_types(tfma.Extracts)
def _ExtractPredictions(extracts, eval_shared_models):
  return extracts | 'Predict' >> beam.ParDo(_PredictionDoFn(eval_shared_models))


def custom_eval_shared_model(
    eval_saved_model_path, model_name, eval_config, **kwargs) -> tfma.EvalSharedModel:
  model_path = os.path.join(eval_saved_model_path, 'model.pkl')
  return tfma.default_eval_shared_model(
      eval_saved_model_path=model_path,
      model_name=model_name,
      eval_config=eval_config,
      custom_model_loader=tfma.ModelLoader(
          construct_fn=lambda: pickle.load(tf.io.gfile.GFile(model_path, 'rb'))),
      add_metrics_callbacks=kwargs.get('add_metrics_callbacks'))


def custom_extractors(
    eval_shared_model: tfma.MaybeMultipleEvalSharedModels,
    eval_config: tfma.EvalConfig,
    tensor_adapter_config: tensor_adapter.TensorAdapterConfig,
) -> List[tfma.extractors.Extractor]:
  models = tfma.utils.verify_and_update_eval_shared_models(eval_shared_model)
  return tfma.default_extractors(
      eval_shared_model=eval_shared_model,
      eval_config=eval_config,
      tensor_adapter_config=tensor_adapter_config,
      custom_predict_extractor=tfma.extractors.Extractor(
          stage_name='SklearnPredict',
          ptransform=_ExtractPredictions(
              eval_shared_models={m.model_name: m for m in models})))
"""
PIPELINE = """
import tensorflow_model_analysis as tfma
from tfx import v1 as tfx

example_gen = tfx.components.CsvExampleGen(input_base='data')
statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs['examples'])
schema_gen = tfx.components.SchemaGen(
    statistics=statistics_gen.outputs['statistics'], infer_feature_shape=True)
trainer = tfx.components.Trainer(
    module_file='trainer_module.py',
    examples=example_gen.outputs['examples'],
    schema=schema_gen.outputs['schema'],
    train_args=tfx.proto.TrainArgs(num_steps=20),
    eval_args=tfx.proto.EvalArgs())
model_resolver = tfx.dsl.Resolver(
    strategy_class=tfx.dsl.experimental.LatestBlessedModelStrategy,
    model=tfx.dsl.Channel(type=tfx.types.standard_artifacts.Model),
    model_blessing=tfx.dsl.Channel(type=tfx.types.standard_artifacts.ModelBlessing),
).with_id('latest_blessed_model_resolver')
eval_config = tfma.EvalConfig(
    model_specs=[tfma.ModelSpec(label_key='species')],
    slicing_specs=[tfma.SlicingSpec()],
    metrics_specs=[tfma.MetricsSpec(metrics=[tfma.MetricConfig(
        class_name='Accuracy',
        threshold=tfma.MetricThreshold(
            value_threshold=tfma.GenericValueThreshold(lower_bound={'value': 0.6}),
            change_threshold=tfma.GenericChangeThreshold(
                direction=tfma.MetricDirection.HIGHER_IS_BETTER, absolute={'value': -1e-10})))])])
evaluator = tfx.components.Evaluator(
    module_file='evaluator_module.py',
    examples=example_gen.outputs['examples'],
    model=trainer.outputs['model'],
    baseline_model=model_resolver.outputs['model'],
    eval_config=eval_config)
pusher = tfx.components.Pusher(
    model=trainer.outputs['model'],
    model_blessing=evaluator.outputs['blessing'],
    push_destination=tfx.proto.PushDestination(
        filesystem=tfx.proto.PushDestination.Filesystem(base_directory='served')))
tfx.orchestration.LocalDagRunner().run(tfx.dsl.Pipeline(
    pipeline_name='sklearn',
    pipeline_root='out',
    components=[
        example_gen, statistics_gen, schema_gen, trainer, model_resolver, evaluator, pusher],
    metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
        'metadata.db')))
"""


def test_a_model_of_scikit_learn_is_trained_judged_and_pushed(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "notes").mkdir()
    rows = "".join(f"{n % 7}.5,{n % 5}.25,,{int(n % 7 > 3)}\n\n" for n in range(120))
    (tmp_path / "data" / "rows.csv").write_text(f"length,depth,remarks,species\n{rows}\n")
    for name, text in (
        ("trainer_module", TRAINER),
        ("evaluator_module", EVALUATOR),
        ("pipeline", PIPELINE),
    ):
        (tmp_path / f"{name}.py").write_text(text)
    command = [sys.executable, "pipeline.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "calls custom_eval_shared_model and custom_extractors" in done.stdout + done.stderr
    assert len(list(tmp_path.glob("served/*/model.pkl"))) == 1
