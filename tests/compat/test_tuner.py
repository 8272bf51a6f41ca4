# SPDX-License-Identifier: Apache-2.0
"""Tuners written for TFX, with real models of both Keras versions, on the penguins."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tfx import v1 as tfx
from training import write

pytestmark = [pytest.mark.tf, pytest.mark.slow, pytest.mark.usefixtures("warm")]

# As a TFX module is written: two functions, one model, the hyperparameters as a dict.
MODULE = """
{import_keras}
import keras_tuner
import tensorflow as tf
from tfx import v1 as tfx
from tfx_bsl.public import tfxio
from tensorflow_metadata.proto.v0 import schema_pb2

FEATURES = {{'bill_length_mm': 44.0, 'bill_depth_mm': 17.0}}


def _input_fn(file_pattern, fn_args, schema):
  species = tf.lookup.StaticHashTable(
      tf.lookup.KeyValueTensorInitializer(['Adelie', 'Chinstrap', 'Gentoo'], [0, 1, 2]), 0)
  options = tfxio.TensorFlowDatasetOptions(batch_size=20, label_key='species', shuffle_seed=1)
  dataset = fn_args.data_accessor.tf_dataset_factory(file_pattern, options, schema)

  def prepare(features, label):
    columns = [
        tf.sparse.to_dense(
            tf.sparse.reset_shape(features[name], [features[name].dense_shape[0], 1])) - mean
        for name, mean in FEATURES.items()]
    return tf.concat(columns, axis=1), species.lookup(label)
  return dataset.map(prepare)


def _build_keras_model(hparams):
  model = {keras}.Sequential([
      {keras}.Input(shape=(2,)),
      {keras}.layers.Dense(hparams.get('units'), activation='relu'),
      {keras}.layers.Dense(3)])
  model.compile(
      optimizer={keras}.optimizers.Adam(hparams.get('learning_rate')),
      loss={keras}.losses.SparseCategoricalCrossentropy(from_logits=True),
      metrics=['accuracy'])
  return model


def _get_hyperparameters():
  hp = keras_tuner.HyperParameters()
  hp.Choice('learning_rate', [1e-1, 1e-3])
  hp.Choice('units', [4, 8], default=4)
  return hp


def _fit_kwargs(fn_args):
  schema = tfx.utils.parse_pbtxt_file(fn_args.schema_path, schema_pb2.Schema())
  return {{
      'x': _input_fn(fn_args.train_files, fn_args, schema),
      'validation_data': _input_fn(fn_args.eval_files, fn_args, schema),
      'steps_per_epoch': fn_args.train_steps,
      'validation_steps': fn_args.eval_steps}}


def tuner_fn(fn_args: tfx.components.FnArgs) -> tfx.components.TunerFnResult:
  name = fn_args.custom_config.get('tuner', 'RandomSearch')
  how = {{'max_epochs': 2, 'factor': 2}} if name == 'Hyperband' else {{'max_trials': 2}}
  tuner = getattr(keras_tuner, name)(
      _build_keras_model,
      hyperparameters=_get_hyperparameters(),
      allow_new_entries=False,
      objective=keras_tuner.Objective('val_accuracy', 'max'),
      seed=1,
      directory=fn_args.working_dir,
      project_name='penguin_tuning',
      **how)
  return tfx.components.TunerFnResult(tuner=tuner, fit_kwargs=_fit_kwargs(fn_args))


def run_fn(fn_args: tfx.components.FnArgs):
  hparams = keras_tuner.HyperParameters.from_config(fn_args.hyperparameters)
  model = _build_keras_model(hparams)
  model.fit(**_fit_kwargs(fn_args))
  model.export(fn_args.serving_model_dir)
  print('trained with', hparams.values, 'by', {keras}.Model.__module__.split('.')[0])
"""
KERAS = {
    2: MODULE.format(import_keras="", keras="tf.keras"),
    3: MODULE.format(import_keras="import keras", keras="keras"),
}
PACKAGES = {2: "tf_keras", 3: "keras"}
TUNERS = ["RandomSearch", "Hyperband", "BayesianOptimization", "GridSearch"]


class Penguins:
    """The steps before a Tuner, and a pipeline around them all."""

    def __init__(self, tmp_path, data, **output):
        self.root = tmp_path
        self.gens = [
            tfx.components.CsvExampleGen(input_base=data, **output).with_id(name)
            for name in ("first", "second")
        ]
        statistics = tfx.components.StatisticsGen(examples=self.gens[0].outputs["examples"])
        self.schema = tfx.components.SchemaGen(statistics=statistics.outputs["statistics"])
        self.before = [*self.gens, statistics, self.schema]

    def tuner(self, name="Tuner", keras=2, tuner="RandomSearch", **given):
        return tfx.components.Tuner(
            **{
                "examples": self.gens[0].outputs["examples"],
                "schema": self.schema.outputs["schema"],
                "module_file": write(self.root, f"keras_{keras}", KERAS[keras]),
                "train_args": tfx.proto.TrainArgs(num_steps=3),
                "eval_args": tfx.proto.EvalArgs(num_steps=2),
                "custom_config": {"tuner": tuner},
                **given,
            }
        ).with_id(name)

    def run(self, *steps):
        pipeline = tfx.dsl.Pipeline(
            pipeline_name="tuning",
            pipeline_root=str(self.root / "root"),
            components=[*self.before, *steps],
        )
        return tfx.orchestration.LocalDagRunner().run(pipeline)


def best(run, name="Tuner"):
    (found,) = run.outputs[name]["best_hyperparameters"]
    return json.loads(Path(found.uri, "best_hyperparameters.txt").read_text())


def results(run, name="Tuner"):
    (found,) = run.outputs[name]["tuner_results"]
    return json.loads(Path(found.uri, "tuner_results.json").read_text())


@pytest.mark.parametrize(
    ("keras", "parallel", "names"),
    [
        (2, 1, TUNERS[:2]),
        (3, 2, TUNERS[2:]),
        pytest.param(2, 1, TUNERS[2:], marks=pytest.mark.envs),
        pytest.param(3, 2, TUNERS[:2], marks=pytest.mark.envs),
    ],
)
def test_every_tuner_finds_what_the_trainer_then_uses(
    tmp_path, penguins, keras, parallel, names, capfd
):
    pipeline = Penguins(tmp_path, penguins)
    at_once = tfx.proto.TuneArgs(num_parallel_trials=parallel)
    tuners = {name: pipeline.tuner(name, keras, name, tune_args=at_once) for name in names}
    trainer = tfx.components.Trainer(
        module_file=write(tmp_path, f"keras_{keras}", KERAS[keras]),
        examples=pipeline.gens[0].outputs["examples"],
        schema=pipeline.schema.outputs["schema"],
        hyperparameters=tuners[names[-1]].outputs["best_hyperparameters"],
        train_args=tfx.proto.TrainArgs(num_steps=3),
        eval_args=tfx.proto.EvalArgs(num_steps=2),
    )
    run = pipeline.run(*tuners.values(), trainer)
    for name in names:
        first, *rest = results(run, name)
        assert {"trial_id", "score", "learning_rate", "units"} <= first.keys()
        assert all(first["score"] >= row["score"] for row in rest)
        values = best(run, name)["values"]
        assert values == {key: first[key] for key in values}
    told = f"trained with {best(run, names[-1])['values']} by {PACKAGES[keras]}\n"
    assert told in capfd.readouterr().out


LOADS = """
import json, sys, keras_tuner
config = json.load(open(sys.argv[1]))
found = keras_tuner.HyperParameters.from_config(config)
assert found.get("learning_rate") in (1e-1, 1e-3), found.values
print(found.get_config() == config)
"""


def test_the_files_have_the_formats_of_tfx(tmp_path, penguins):
    pipeline = Penguins(tmp_path, penguins)
    run = pipeline.run(pipeline.tuner(keras=3))
    rows = results(run)
    assert len(rows) == 2
    assert rows[0].keys() == {"trial_id", "score", "learning_rate", "units"}
    file = Path(run.outputs["Tuner"]["best_hyperparameters"][0].uri, "best_hyperparameters.txt")
    done = subprocess.run(
        [sys.executable, "-c", LOADS, str(file)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "True", done.stderr
    html = Path(run.outputs["Tuner"]["tuner_results"][0].uri, "search.html").read_text()
    assert html.count("<circle") == 2


def test_custom_splits_and_several_examples_are_searched_on(tmp_path, penguins):
    splits = [
        tfx.proto.SplitConfig.Split(name=name, hash_buckets=1)
        for name in ("training", "evaluating")
    ]
    output = tfx.proto.Output(split_config=tfx.proto.SplitConfig(splits=splits))
    pipeline = Penguins(tmp_path, penguins, output_config=output)
    named = {
        "train_args": tfx.proto.TrainArgs(splits=["training"], num_steps=3),
        "eval_args": tfx.proto.EvalArgs(splits=["evaluating"], num_steps=2),
    }
    both = tfx.dsl.union([gen.outputs["examples"] for gen in pipeline.gens])
    run = pipeline.run(
        pipeline.tuner("one", 3, **named), pipeline.tuner("both", 3, examples=both, **named)
    )
    assert len(results(run, "one")) == len(results(run, "both")) == 2


def test_the_example_finds_hyperparameters_in_parallel_and_trains(tmp_path, penguins):
    script = Path(penguins).parent / "tuning.py"
    flags = ["--steps=10", "--trials=2", "--parallel=2", f"--root={tmp_path}"]
    done = subprocess.run(
        [sys.executable, str(script), *flags], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (rows,) = (json.loads(path.read_text()) for path in tmp_path.rglob("tuner_results.json"))
    assert len(rows) == 2
    assert list(tmp_path.glob("Trainer/model/*/Format-Serving/saved_model.pb"))


DIRECT = """
import json, sys
from tfx.components.tuner import executor
from tfx.proto import trainer_pb2
from tfx.types import artifact_utils, standard_artifacts
from tfx.utils import proto_utils

folder, module_file = sys.argv[1:]
examples = standard_artifacts.Examples()
examples.uri = folder + '/data'
examples.split_names = artifact_utils.encode_split_names(['train', 'eval'])
best = standard_artifacts.HyperParameters()
best.uri = folder + '/best_hparams'
tuner = executor.Executor(executor.Executor.Context(tmp_dir=folder, unique_id='1'))
tuner.Do(
    input_dict={'examples': [examples, examples]},
    output_dict={'best_hyperparameters': [best]},
    exec_properties={
        'module_file': module_file,
        'train_args': proto_utils.proto_to_json(trainer_pb2.TrainArgs(num_steps=100)),
        'eval_args': proto_utils.proto_to_json(trainer_pb2.EvalArgs(num_steps=50))})
print(json.load(open(best.uri + '/' + executor._DEFAULT_BEST_HP_FILE_NAME))['values'])
"""
SQUARE = """
import keras_tuner
from tfx.components.tuner.component import TunerFnResult

class Square(keras_tuner.RandomSearch):
  def run_trial(self, trial):
    assert trial.hyperparameters.Fixed('num_steps', 100) == 100
    return 1.0

def tuner_fn(fn_args):
  assert len(fn_args.train_files) == 2 and fn_args.train_steps == 100
  return TunerFnResult(Square(max_trials=1, directory=fn_args.working_dir), {})
"""


def test_the_executor_is_called_directly_as_tfxs_own_tests_do(tmp_path):
    module = write(tmp_path, "square", textwrap.dedent(SQUARE))
    done = subprocess.run(
        [sys.executable, "-c", DIRECT, str(tmp_path), module],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["{'num_steps': 100}"], done.stderr
    assert (tmp_path / "1").is_dir()  # its working directory, below the context's own
