# SPDX-License-Identifier: Apache-2.0
"""Which function a Trainer calls, what it refuses, and that others' steps keep their TensorFlow."""

import json
import sys
from pathlib import Path

import pytest
import tensorflow_model_analysis as tfma
from tfx import v1 as tfx
from tfx.components.trainer.executor import Executor
from tfx.dsl.components.base.executor_spec import ExecutorClassSpec
from training import train, write

from stoker.errors import StepFailed
from stoker.metadata import sqlite_metadata_connection_config
from stoker.metadata.store import Store

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]

ESTIMATOR = """
import tensorflow as tf
import tensorflow_model_analysis as tfma

_SPEC = {
    'year': tf.io.FixedLenFeature([1], tf.int64),
    'species': tf.io.FixedLenFeature([1], tf.string),
}
_SERVED = {'year': _SPEC['year']}


def _input_fn(patterns):
    def rows():
        return tf.data.experimental.make_batched_features_dataset(
            patterns, 32, _SPEC, label_key='species',
            reader=lambda files: tf.data.TFRecordDataset(files, compression_type='GZIP'))
    return rows


def _estimator(model_dir, warm_start_from):
    return tf.estimator.LinearClassifier(
        [tf.feature_column.categorical_column_with_hash_bucket('year', 7, tf.int64)],
        n_classes=3, label_vocabulary=['Adelie', 'Chinstrap', 'Gentoo'], model_dir=model_dir,
        warm_start_from=warm_start_from)


def _exporters():
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(_SERVED)
    return [tf.estimator.FinalExporter('final', receiver)]


def trainer_fn(fn_args, schema):
    assert any(feature.name == 'species' for feature in schema.feature)
    return {
        'estimator': _estimator(fn_args.serving_model_dir, fn_args.warm_start_from),
        'train_spec': tf.estimator.TrainSpec(_input_fn(fn_args.train_files), fn_args.train_steps),
        'eval_spec': tf.estimator.EvalSpec(
            _input_fn(fn_args.eval_files), fn_args.eval_steps, exporters=_exporters()),
        'eval_input_receiver_fn': tfma.export.build_parsing_eval_input_receiver_fn(
            _SPEC, 'species'),
    }
"""

BOTH = (
    ESTIMATOR
    + """

def run_fn(fn_args):
    from stoker.stand_ins.tfx.io_utils import write_string_file
    write_string_file(fn_args.serving_model_dir + '/who.txt', 'run_fn')
"""
)

# As the RFC of the generic Trainer converts modules: the Estimator is trained in run_fn.
CONVERTED = """
import tensorflow as tf


def _input_fn():
    x = tf.random.stateless_uniform([32, 2], [1, 2])
    return tf.data.Dataset.from_tensors((x, tf.reduce_sum(x, 1, keepdims=True))).repeat()


def run_fn(fn_args):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), name='total')])
    model.compile('sgd', 'mse')
    estimator = tf.keras.estimator.model_to_estimator(model, model_dir=fn_args.model_run_dir)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(_input_fn, max_steps=fn_args.train_steps),
        tf.estimator.EvalSpec(_input_fn, steps=fn_args.eval_steps))
    folder = estimator.export_saved_model(
        fn_args.model_run_dir + '/export',
        lambda: tf.estimator.export.build_raw_serving_input_receiver_fn(
            {'total_input': tf.compat.v1.placeholder(tf.float32, [None, 2])})())
    tf.io.gfile.rename(tf.compat.as_str(folder), fn_args.serving_model_dir)
"""

WITHOUT = """
import json, os, sys
import tensorflow as tf
from tensorflow.python.util import tf_export


def run_fn(fn_args):
    os.makedirs(fn_args.serving_model_dir)
    with open(fn_args.serving_model_dir + '/seen.json', 'w') as file:
        json.dump({
            'modules': [name for name in sys.modules if name.startswith(
                ('tensorflow_estimator', 'tensorflow_model_analysis')) or 'estimator' in name
                and name.startswith('tensorflow.')],
            'attributes': [hasattr(tf, 'estimator'), hasattr(tf.compat.v1, 'estimator')],
            'patched': 'estimator' in tf_export.API_ATTRS,
        }, file)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory, penguins):
    folder = tmp_path_factory.mktemp("routes")
    sys.path.insert(0, str(folder))
    write(folder, "dotted_estimator", BOTH)
    estimators = {"custom_executor_spec": ExecutorClassSpec(Executor)}
    modules = {
        "only_trainer_fn": ESTIMATOR,
        "both": BOTH,
        "named": {"module_file": write(folder, "named", BOTH), **estimators},
        "dotted": {"trainer_fn": "dotted_estimator.trainer_fn"},
        "converted": CONVERTED,
        "without": WITHOUT,
    }
    yield train(folder, penguins, modules, steps=5)
    sys.path.remove(str(folder))


def files_of(run, name):
    model = Path(run.outputs[name]["model"][0].uri)
    return {str(file.relative_to(model)) for file in model.rglob("*") if file.is_file()}


@pytest.mark.parametrize("name", ["only_trainer_fn", "named", "dotted"])
def test_trainer_fn_is_called_where_it_is_the_only_one_or_asked_for(trained, name):
    assert {"Format-Serving/saved_model.pb", "Format-TFMA/saved_model.pb"} <= files_of(
        trained, name
    )


def test_of_two_functions_run_fn_is_called(trained):
    assert files_of(trained, "both") == {"Format-Serving/who.txt"}


def test_a_run_fn_may_train_an_estimator_that_was_a_keras_model(trained):
    assert "Format-Serving/saved_model.pb" in files_of(trained, "converted")
    run_dir = Path(trained.outputs["converted"]["model_run"][0].uri)
    lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    steps = {(record["split"], record["step"]) for record in map(json.loads, lines)}
    assert {("train", 1), ("train", 5), ("validation", 5)} <= steps


def test_a_step_without_estimators_has_none_though_others_have(trained):
    model = Path(trained.outputs["without"]["model"][0].uri)
    assert json.loads((model / "Format-Serving" / "seen.json").read_text()) == {
        "modules": [],
        "attributes": [False, False],
        "patched": False,
    }


REFUSED = {
    "neither exporter nor receiver": (
        "exporters=_exporters()),\n        'eval_input_receiver_fn': ",
        "exporters=None),\n        'other': ",
        "Add 'eval_input_receiver_fn'",
    ),
    "two exporters": (
        "    return [tf.estimator.FinalExporter('final', receiver)]",
        "    return [tf.estimator.FinalExporter(name, receiver) for name in ('one', 'two')]",
        "the EvalSpec has 'one' and 'two'",
    ),
    "no receiver": ("'eval_input_receiver_fn': ", "'other': ", "Add 'eval_input_receiver_fn'"),
    "no schema": ("", "", "this Trainer has none. Give it one: Trainer(schema="),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_module_that_cannot_be_published_is_refused(case, tmp_path, penguins):
    old, new, message = REFUSED[case]
    assert old in ESTIMATOR
    example_gen = tfx.components.CsvExampleGen(input_base=penguins)
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    trainer = tfx.components.Trainer(
        module_file=write(tmp_path, "module", ESTIMATOR.replace(old, new)),
        examples=example_gen.outputs["examples"],
        schema=None if case == "no schema" else schema_gen.outputs["schema"],
        train_args=tfx.proto.TrainArgs(num_steps=5),
        eval_args=tfx.proto.EvalArgs(num_steps=1),
    )
    root = tmp_path / "root"
    with pytest.raises(StepFailed) as failed:
        tfx.orchestration.LocalDagRunner().run(
            tfx.dsl.Pipeline(
                pipeline_name="refused",
                pipeline_root=str(root),
                components=[example_gen, statistics_gen, schema_gen, trainer],
            )
        )
    assert message in str(failed.value)
    assert failed.value.traceback == ""
    with Store(sqlite_metadata_connection_config(root / "metadata.db")) as store:
        assert store.artifacts(type_name="Model") == []
    assert not list(root.rglob("checkpoint"))


def test_without_an_exporter_the_eval_model_is_published_and_cannot_be_pushed(
    tmp_path, penguins, capfd
):
    example_gen = tfx.components.CsvExampleGen(input_base=penguins)
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    module = ESTIMATOR.replace("exporters=_exporters()", "exporters=None")
    latest = tfx.dsl.Resolver(
        strategy_class=tfx.dsl.experimental.LatestArtifactStrategy,
        model=tfx.dsl.Channel(type=tfx.types.standard_artifacts.Model),
    ).with_id("latest")
    trainer = tfx.components.Trainer(
        base_model=latest.outputs["model"],
        module_file=write(tmp_path, "module", module),
        examples=example_gen.outputs["examples"],
        schema=schema_gen.outputs["schema"],
        train_args=tfx.proto.TrainArgs(num_steps=5),
        eval_args=tfx.proto.EvalArgs(num_steps=1),
    )
    evaluator = tfx.components.Evaluator(
        examples=example_gen.outputs["examples"],
        model=trainer.outputs["model"],
        eval_config=tfma.EvalConfig(
            model_specs=[tfma.ModelSpec(signature_name="eval")],
            slicing_specs=[tfma.SlicingSpec()],
        ),
    )
    pusher = tfx.components.Pusher(
        model=trainer.outputs["model"],
        push_destination=tfx.proto.PushDestination(
            filesystem=tfx.proto.PushDestination.Filesystem(base_directory=str(tmp_path / "served"))
        ),
    )
    pusher.add_upstream_node(evaluator)
    root = tmp_path / "root"
    steps = [latest, example_gen, statistics_gen, schema_gen, trainer, evaluator, pusher]
    for _ in range(2):  # the second training begins with the model of the first
        with pytest.raises(StepFailed, match=r"no model for serving in .*FinalExporter") as failed:
            tfx.orchestration.LocalDagRunner().run(
                tfx.dsl.Pipeline(pipeline_name="p", pipeline_root=str(root), components=steps)
            )
        assert str(failed.value).startswith("Pusher ")
    assert not (tmp_path / "served").exists()
    assert "EvalSpec has no exporter" in "".join(capfd.readouterr())
    with Store(sqlite_metadata_connection_config(root / "metadata.db")) as store:
        _, model = store.artifacts(type_name="Model")
        _, evaluation = store.artifacts(type_name="ModelEvaluation")
    assert {path.name for path in Path(model.uri).iterdir()} == {"Format-TFMA"}
    assert tfma.load_eval_result(evaluation.uri).slicing_metrics
