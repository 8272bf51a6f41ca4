# SPDX-License-Identifier: Apache-2.0
"""Modules written for TFX rewrite their models themselves; others leave it to the pipeline."""

import json
import os
from pathlib import Path

import pytest
from training import train

from stoker import Rewriter, StepFailed, Trainer
from stoker.models.rewriting.report import Report

pytestmark = [pytest.mark.tf, pytest.mark.slow, pytest.mark.usefixtures("warm")]

# As the guide and the examples of TFX have it: train, save, rewrite into the serving folder.
KERAS = """
import os
import tensorflow as tf
from tfx.components.trainer.rewriting import converters, rewriter, rewriter_factory

_FEATURES = ['bill_length_mm', 'bill_depth_mm']


def _serving(model):
    spec = {key: tf.io.FixedLenFeature([1], tf.float32, 0.0) for key in _FEATURES}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name='examples')])
    def serve_tf_examples_fn(serialized):
        return {'score': model(tf.io.parse_example(serialized, spec))}

    return serve_tf_examples_fn


def run_fn(fn_args):
    inputs = {key: tf.keras.Input((1,), name=key) for key in _FEATURES}
    scores = tf.keras.layers.Dense(3)(tf.keras.layers.concatenate(list(inputs.values())))
    model = tf.keras.Model(inputs, scores)
    temp_saving_model_dir = os.path.join(fn_args.serving_model_dir, 'temp')
    signatures = {'serving_default': _serving(model)}
    model.save(temp_saving_model_dir, save_format='tf', signatures=signatures)
    tfrw = rewriter_factory.create_rewriter(
        rewriter_factory.TFLITE_REWRITER, name='tflite_rewriter')
    converters.rewrite_saved_model(temp_saving_model_dir, fn_args.serving_model_dir, tfrw,
                                   rewriter.ModelType.TFLITE_MODEL)
    tf.io.gfile.rmtree(temp_saving_model_dir)
"""

ESTIMATOR = """
import tensorflow as tf
import tensorflow_model_analysis as tfma
from tfx.components.trainer.rewriting import converters, rewriter_factory

_FEATURES = ['bill_length_mm', 'bill_depth_mm']
_SPEC = {key: tf.io.VarLenFeature(tf.float32) for key in _FEATURES}


def _features(examples):
    parsed = tf.io.parse_example(examples, _SPEC)
    return {
        key: tf.sparse.to_dense(tf.SparseTensor(
            column.indices, column.values, [column.dense_shape[0], 1]), 20.0)
        for key, column in parsed.items()
    }


def _labels(examples):
    species = tf.io.parse_example(examples, {'species': tf.io.FixedLenFeature([1], tf.string)})
    return tf.cast(tf.equal(species['species'], 'Adelie'), tf.int32)


def _input_fn(file_pattern):
    files = tf.data.Dataset.list_files(file_pattern)
    records = tf.data.TFRecordDataset(files, compression_type='GZIP').repeat().batch(20)
    return records.map(lambda examples: (_features(examples), _labels(examples)))


def _serving_input_receiver_fn():
    examples = tf.compat.v1.placeholder(tf.string, [None], name='input_example_tensor')
    return tf.estimator.export.ServingInputReceiver(_features(examples), {'examples': examples})


def _eval_input_receiver_fn():
    examples = tf.compat.v1.placeholder(tf.string, [None], name='input_example_tensor')
    return tfma.export.EvalInputReceiver(
        features=_features(examples), labels=_labels(examples),
        receiver_tensors={'examples': examples})


def trainer_fn(trainer_fn_args, schema):
    columns = [tf.feature_column.numeric_column(key) for key in _FEATURES]
    estimator = tf.estimator.LinearClassifier(
        columns, config=tf.estimator.RunConfig(model_dir=trainer_fn_args.serving_model_dir))
    tfrw = rewriter_factory.create_rewriter(
        rewriter_factory.TFLITE_REWRITER, name='tflite', filename='model.tflite',
        signature_key='predict')
    exporter = converters.RewritingExporter(
        tf.estimator.FinalExporter('penguin', _serving_input_receiver_fn), tfrw)
    return {
        'estimator': estimator,
        'train_spec': tf.estimator.TrainSpec(
            lambda: _input_fn(trainer_fn_args.train_files), max_steps=20),
        'eval_spec': tf.estimator.EvalSpec(
            lambda: _input_fn(trainer_fn_args.eval_files), steps=2, exporters=[exporter]),
        'eval_input_receiver_fn': _eval_input_receiver_fn,
    }
"""


def test_a_module_that_rewrites_its_model_runs_as_it_is(tmp_path, penguins):
    run = train(tmp_path, penguins, {"Trainer": KERAS}, steps=1)

    serving = Path(run.outputs["Trainer"]["model"][0].uri, "Format-Serving")
    assert {file.name for file in serving.iterdir()} == {"assets", "rewriting.json", "tflite"}
    report = Report.read(str(serving))
    assert report.compared_on == "139 eval examples"  # one has no value where one is parsed
    assert report.largest_difference <= report.tolerance
    assert report.inputs["bill_depth_mm"]["meaning"] == "the feature 'bill_depth_mm'"


def test_an_estimators_export_is_rewritten(tmp_path, penguins):
    run = train(tmp_path, penguins, {"Trainer": ESTIMATOR}, steps=20)

    serving = Path(run.outputs["Trainer"]["model"][0].uri, "Format-Serving")
    assert (serving / "model.tflite").exists()
    assert not (serving / "saved_model.pb").exists()
    report = Report.read(str(serving))
    assert report.compared_on == "140 eval examples"
    assert "probabilities" in report.outputs
    assert "classes" in report.left_out


def penguin_steps(penguins, **arguments):
    from tfx import v1 as tfx

    example_gen = tfx.components.CsvExampleGen(input_base=penguins)
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    trainer = Trainer(
        examples=example_gen.outputs["examples"],
        schema=schema_gen.outputs["schema"],
        module_file=str(Path(penguins).parent / "module.py"),
        train_args=tfx.proto.TrainArgs(num_steps=20),
        eval_args=tfx.proto.EvalArgs(num_steps=1),
        **arguments,
    )
    return [example_gen, statistics_gen, schema_gen, trainer]


def run_steps(tmp_path, steps):
    from tfx import v1 as tfx

    return tfx.orchestration.LocalDagRunner().run(
        tfx.dsl.Pipeline("penguin", str(tmp_path / "root"), components=steps, enable_cache=True)
    )


def test_formats_come_with_the_model_and_as_models_of_their_own(tmp_path, penguins):
    steps = penguin_steps(penguins, rewrite=["tflite", "onnx"])
    rewriter = Rewriter(model=steps[-1].outputs["model"], to=["tflite_int8"])

    run = run_steps(tmp_path, [*steps, rewriter])

    (model,) = run.outputs["Trainer"]["model"]
    formats = {"Format-Serving", "Format-TFLite", "Format-ONNX"}
    assert set(os.listdir(model.uri)) == formats
    assert set(json.loads(json.dumps(model.custom_properties["rewriting"]))) == {"tflite", "onnx"}
    (small,) = run.outputs["Rewriter"]["tflite_int8"]
    assert Report.read(f"{small.uri}/Format-Serving").compared_on == "140 eval examples"
    assert small.custom_properties["model_type"] == "TFLite"


def test_a_format_that_differs_too_much_stops_before_publishing(tmp_path, penguins):
    steps = penguin_steps(penguins)
    rewriter = Rewriter(
        model=steps[-1].outputs["model"], to=["onnx", "tflite_int8"], tolerance=1e-6
    )

    with pytest.raises(StepFailed, match=r"tflite_int8 rejects .*'probabilities' differs"):
        run_steps(tmp_path, [*steps, rewriter])

    left = [path for path in (tmp_path / "root" / "Rewriter").rglob("*") if path.is_file()]
    assert left == []
