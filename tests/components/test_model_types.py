# SPDX-License-Identifier: Apache-2.0
"""`ModelSpec.model_type` is obeyed: beside each model lies another, which must not be asked."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from evaluated_models import labelled_channel, save_classifier
from evaluating import at_least, config, evaluate

from stoker.artifacts import Model
from stoker.components.evaluator import Evaluator
from stoker.data.tfrecord import read_records
from stoker.dsl import Channel
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import ModelRejected
from stoker.evaluation.results import read_metrics

pytestmark = pytest.mark.tf

WEIGHTS = np.array([[1.5], [-2.0]], np.float32)
ACCURACY = {"class_name": "BinaryAccuracy", "threshold": at_least(0.6)}


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    return labelled_channel(tmp_path_factory.mktemp("examples"), num=200)


@pytest.fixture(autouse=True)
def _own_path(monkeypatch):
    """Loading a module changes where others are looked for."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture(scope="module")
def saved_model(tmp_path_factory):
    """A SavedModel that would be blessed."""
    return save(save_classifier, tmp_path_factory.mktemp("good") / "model")


def save(save_one, folder):
    save_one(folder)
    return folder


def served(folder, *parts):
    """A Model whose served folder holds all of these."""
    serving = folder / "Format-Serving"
    for part in parts:
        shutil.copytree(part, serving, dirs_exist_ok=True)
    artifact = Model()
    artifact.uri = str(folder)
    return Channel(Model, artifacts=[artifact])


def score(bias, examples):
    """The accuracy of a model with this bias, computed here."""
    (artifact,) = examples.get()
    right = []
    for record in read_records(str(Path(artifact.uri, "Split-eval", "data.gz"))):
        feature = Example.FromString(record).features.feature
        x, label = feature["x"].float_list.value, feature["label"].int64_list.value[0]
        right.append((np.dot(x, WEIGHTS[:, 0]) + bias > 0) == label)
    return np.mean(right)


def evaluate_as(model_type, tmp_path, model, examples, **spec):
    given = config(ACCURACY, model_type=model_type, **spec)
    step = Evaluator(examples=examples, model=model, eval_config=given)
    evaluation, blessing = evaluate(tmp_path, step, examples=examples, model=model)
    ((accuracy,),) = (values.values() for values in read_metrics(evaluation.uri).values())
    return accuracy, blessing.get_int_custom_property("blessed")


def refuse_as(model_type, tmp_path, model, examples, match):
    with pytest.raises(ModelRejected, match=match):
        evaluate_as(model_type, tmp_path, model, examples)
    assert not list(Path(tmp_path, "blessing").iterdir())


@pytest.mark.parametrize("model_type", ["tf_keras", "tf_generic", "tf_estimator"])
def test_a_saved_model_is_asked_whatever_wrote_it(model_type, tmp_path, saved_model, examples):
    model = served(tmp_path / "model", saved_model)
    (tmp_path / "model" / "Format-Serving" / "tflite").write_bytes(b"another model")

    assert evaluate_as(model_type, tmp_path, model, examples) == (score(0.1, examples), 1)


def write_tflite(folder, bias, *, signed=True, num_rows=None):
    """The classifier as TFLite, on the feature `x`."""
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([num_rows, 2], tf.float32, name="x")])
    def call(x):
        return {"score": tf.sigmoid(x @ WEIGHTS + bias)}

    module = tf.Module()
    module.call = call
    if signed:
        tf.saved_model.save(module, str(folder / "saved"), {"serving_default": call})
        converter = tf.lite.TFLiteConverter.from_saved_model(str(folder / "saved"))
    else:
        concrete = call.get_concrete_function()
        converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete])
    (folder / "served").mkdir(parents=True)
    (folder / "served" / "tflite").write_bytes(converter.convert())
    return folder / "served"


@pytest.mark.parametrize("how", [{}, {"signed": False, "num_rows": 1}])
def test_tf_lite_is_the_tflite_file(how, tmp_path, saved_model, examples):
    lite = write_tflite(tmp_path / "lite", bias=4.0, **how)
    model = served(tmp_path / "model", saved_model, lite)

    accuracy, blessed = evaluate_as("tf_lite", tmp_path, model, examples)

    assert accuracy == pytest.approx(score(4.0, examples))
    assert blessed == 0


def test_tf_lite_fails_where_no_tflite_file_is(tmp_path, saved_model, examples):
    model = served(tmp_path / "model", saved_model)
    refuse_as("tf_lite", tmp_path, model, examples, "holds 0 TFLite files.*saved_model.pb")


def test_tf_lite_fails_where_the_file_is_something_else(tmp_path, saved_model, examples):
    model = served(tmp_path / "model", saved_model)
    shutil.copy(saved_model / "saved_model.pb", tmp_path / "model" / "Format-Serving" / "tflite")
    refuse_as("tf_lite", tmp_path, model, examples, "no TFLite file, which ModelSpec.model_type")


def test_a_saved_model_fails_where_only_a_tflite_file_is(tmp_path, examples):
    (tmp_path / "lite").mkdir()
    (tmp_path / "lite" / "tflite").write_bytes(b"TFLite")
    model = served(tmp_path / "model", tmp_path / "lite")
    refuse_as("tf_keras", tmp_path, model, examples, "no SavedModel of the type 'tf_keras'.*tflite")


def write_tfjs(folder, bias):
    """The classifier as a graph model of TensorFlow.js, on the feature `x`."""
    folder.mkdir(parents=True)
    shapes = {"weights": [2, 1], "bias": [1]}

    def node(name, op, *inputs, **attributes):
        typed = {"T": {"type": "DT_FLOAT"}} if inputs else {"dtype": {"type": "DT_FLOAT"}}
        return {"name": name, "op": op, "input": list(inputs), "attr": {**typed, **attributes}}

    any_rows = {"shape": {"dim": [{"size": "-1"}, {"size": "2"}]}}
    nodes = [
        node("x", "Placeholder", shape=any_rows),
        *(node(name, "Const") for name in shapes),
        node("product", "MatMul", "x", "weights"),
        node("sum", "BiasAdd", "product", "bias"),
        node("score", "Sigmoid", "sum"),
    ]
    tensor = {"name": "x:0", "dtype": "DT_FLOAT", "tensorShape": any_rows["shape"]}
    weights = [{"name": n, "shape": s, "dtype": "float32"} for n, s in shapes.items()]
    model = {
        "format": "graph-model",
        "modelTopology": {"node": nodes, "versions": {"producer": 1}},
        "signature": {
            "inputs": {"x:0": tensor},
            "outputs": {"score": {**tensor, "name": "score:0"}},
        },
        "weightsManifest": [{"paths": ["weights.bin"], "weights": weights}],
    }
    (folder / "model.json").write_text(json.dumps(model))
    values = np.concatenate([WEIGHTS.ravel(), [bias]]).astype(np.float32)
    (folder / "weights.bin").write_bytes(values.tobytes())
    return folder


@pytest.mark.envs
def test_tf_js_is_the_model_of_tensorflow_js(tmp_path, saved_model, examples):
    model = served(tmp_path / "model", saved_model, write_tfjs(tmp_path / "js", bias=4.0))

    accuracy, blessed = evaluate_as("tf_js", tmp_path, model, examples)

    assert accuracy == pytest.approx(score(4.0, examples))
    assert blessed == 0


def test_tf_js_fails_where_no_such_model_is(tmp_path, saved_model, examples):
    model = served(tmp_path / "model", saved_model)
    refuse_as("tf_js", tmp_path, model, examples, "has no model.json: it has assets")
    Path(tmp_path, "model", "Format-Serving", "model.json").write_text("{}")
    shutil.rmtree(tmp_path / "evaluation")
    shutil.rmtree(tmp_path / "blessing")
    refuse_as("tf_js", tmp_path, model, examples, "no graph model of TensorFlow.js")


def test_tfma_eval_is_no_model_for_serving(tmp_path, saved_model, examples):
    model = served(tmp_path / "model", saved_model)
    refuse_as("tfma_eval", tmp_path, model, examples, "is for serving, and ModelSpec.model_type")


def test_types_that_nobody_knows_are_refused_when_declared(saved_model, examples, tmp_path):
    model = served(tmp_path / "model", saved_model)
    with pytest.raises(ValueError, match=r"'sklearn' is none of tf_keras.*custom_eval_shared"):
        evaluate_as("sklearn", tmp_path, model, examples)
    with pytest.raises(ValueError, match="there is a model, which would not be asked"):
        evaluate_as("materialized_prediction", tmp_path, model, examples)


def test_a_baseline_is_of_its_own_type(tmp_path, saved_model, examples):
    lite = served(tmp_path / "lite-model", write_tflite(tmp_path / "lite", bias=4.0))
    model = served(tmp_path / "model", saved_model)
    given = config(ACCURACY)
    given["model_specs"] += [{"label_key": "label", "model_type": "tf_lite", "is_baseline": True}]
    step = Evaluator(examples=examples, model=model, baseline_model=lite, eval_config=given)

    evaluation, _ = evaluate(tmp_path, step, examples=examples, model=model, baseline_model=lite)

    found = {(one.model, one.is_diff): v for one, v in read_metrics(evaluation.uri)[()].items()}
    assert found["baseline", False] == pytest.approx(score(4.0, examples))
    assert found["candidate", False] == pytest.approx(score(0.1, examples))


def test_predictions_in_the_examples_need_no_model(tmp_path, examples):
    given = config({"class_name": "MeanPrediction"}, prediction_key="weight")
    step = Evaluator(examples=examples, eval_config=given)

    evaluation, blessing = evaluate(tmp_path, step, examples=examples)

    ((value,),) = (one.values() for one in read_metrics(evaluation.uri).values())
    assert value == pytest.approx(0.5, abs=0.1)
    assert not blessing.has_custom_property("blessed")


def test_without_a_model_the_predictions_are_named(examples):
    with pytest.raises(ValueError, match=r"no model, and no ModelSpec\.prediction_key"):
        Evaluator(examples=examples, eval_config=config({"class_name": "AUC"}))


CUSTOM = """
import os
import pathlib
import pickle

import apache_beam as beam
import tensorflow_model_analysis as tfma


class _Ask(tfma.utils.DoFnWithModels):
    def __init__(self, models):
        super().__init__({name: one.model_loader for name, one in models.items()})

    def process(self, elem):
        rows = [[v.item() for v in row] for row in elem[tfma.FEATURES_KEY]["x"]]
        answers = {name: model.predict(rows) for name, model in self._loaded_models.items()}
        if len(answers) == 1:
            (found,) = answers.values()
        else:
            found = [dict(zip(answers, row)) for row in zip(*answers.values())]
        yield {**elem, tfma.PREDICTIONS_KEY: found}


@beam.ptransform_fn
def _ask(extracts, models):
    return extracts | beam.ParDo(_Ask(models))


def custom_eval_shared_model(eval_saved_model_path, model_name, eval_config, **kwargs):
    path = os.path.join(eval_saved_model_path, "model.pkl")
    return tfma.default_eval_shared_model(
        eval_saved_model_path=path,
        model_name=model_name,
        eval_config=eval_config,
        custom_model_loader=tfma.ModelLoader(
            construct_fn=lambda: pickle.loads(pathlib.Path(path).read_bytes())
        ),
        add_metrics_callbacks=kwargs.get("add_metrics_callbacks"),
    )


def custom_extractors(eval_shared_model, eval_config, tensor_adapter_config):
    models = tfma.utils.verify_and_update_eval_shared_models(eval_shared_model)
    ask = tfma.extractors.Extractor(
        stage_name="Ask", ptransform=_ask({one.model_name: one for one in models})
    )
    return tfma.default_extractors(
        eval_shared_model=eval_shared_model,
        eval_config=eval_config,
        tensor_adapter_config=tensor_adapter_config,
        custom_predict_extractor=ask,
    )
"""


def fit(folder, examples, *, sign):
    """A scikit-learn model of the examples, or of the opposite of their labels."""
    import pickle

    from sklearn.linear_model import LogisticRegression

    (artifact,) = examples.get()
    features = [
        Example.FromString(record).features.feature
        for record in read_records(str(Path(artifact.uri, "Split-eval", "data.gz")))
    ]
    labels = np.array([one["label"].int64_list.value[0] for one in features])
    model = LogisticRegression().fit([one["x"].float_list.value for one in features], labels)
    model.coef_, model.intercept_ = sign * model.coef_, sign * model.intercept_
    folder.mkdir()
    (folder / "model.pkl").write_bytes(pickle.dumps(model))
    return folder


@pytest.mark.parametrize(("sign", "verdict"), [(1, 1), (-1, 0)])
def test_a_module_loads_and_asks_models_of_other_libraries(
    sign, verdict, tmp_path, saved_model, examples
):
    model = served(tmp_path / "model", saved_model, fit(tmp_path / "sk", examples, sign=sign))
    (tmp_path / "custom_models.py").write_text(CUSTOM)
    accuracy = {"class_name": "Accuracy", "threshold": at_least(0.6)}
    by_color = ({}, {"feature_keys": ["color"]})
    step = Evaluator(
        examples=examples,
        model=model,
        eval_config=config(accuracy, slices=by_color, model_type="sklearn"),
        module_file=str(tmp_path / "custom_models.py"),
    )

    evaluation, blessing = evaluate(tmp_path, step, examples=examples, model=model)

    found = read_metrics(evaluation.uri)
    (value,) = found[()].values()
    assert (value > 0.7) == (sign > 0)
    assert len(found) == 4
    assert blessing.get_int_custom_property("blessed") == verdict


def test_a_module_compares_two_models_of_its_own(tmp_path, examples):
    good = served(tmp_path / "good", fit(tmp_path / "sk", examples, sign=1))
    bad = served(tmp_path / "bad", fit(tmp_path / "ks", examples, sign=-1))
    (tmp_path / "custom_models.py").write_text(CUSTOM)
    step = Evaluator(
        examples=examples,
        model=good,
        baseline_model=bad,
        eval_config=config({"class_name": "Accuracy"}),
        module_file=str(tmp_path / "custom_models.py"),
    )

    evaluation, _ = evaluate(tmp_path, step, examples=examples, model=good, baseline_model=bad)

    found = {(one.model, one.is_diff): v for one, v in read_metrics(evaluation.uri)[()].items()}
    assert found["candidate", True] == found["candidate", False] - found["baseline", False] > 0.4


def test_a_module_that_loads_nothing_fails_where_no_saved_model_is(tmp_path, examples):
    model = served(tmp_path / "model", fit(tmp_path / "sk", examples, sign=1))
    refuse_as("", tmp_path, model, examples, "no SavedModel in .*: it has model.pkl. Name what")
