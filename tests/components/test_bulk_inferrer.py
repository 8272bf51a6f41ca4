# SPDX-License-Identifier: Apache-2.0
"""BulkInferrer, through the runner and a real worker."""

import pytest
from served_models import (
    blessing_channel,
    examples_channel,
    model_channel,
    save_estimator_like_model,
)

from stoker.components.bulk_inferrer import BulkInferrer, Executor
from stoker.data.tfrecord import read_records
from stoker.dsl import Pipeline
from stoker.dsl.proto.bulk_inferrer_pb2 import DataSpec, ModelSpec, OutputExampleSpec
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import StokerError
from stoker.runner import LocalDagRunner

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return model_channel(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def estimator(tmp_path_factory):
    return model_channel(tmp_path_factory.mktemp("estimator"), save_estimator_like_model)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    return examples_channel(
        tmp_path_factory.mktemp("examples"), train=[1.0, 2.0, 3.0], unlabelled=[4.0]
    )


def infer(tmp_path, *steps):
    root = tmp_path / "root"
    run = LocalDagRunner().run(Pipeline("infer", str(root), components=steps))
    return [run.outputs[step.id] for step in steps]


def logs(outputs):
    from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

    (result,) = outputs["inference_result"]
    return [
        PredictionLog.FromString(record)
        for record in read_records(f"{result.uri}/prediction_logs-00000-of-00001.gz")
    ]


def features(outputs, split):
    (written,) = outputs["output_examples"]
    return [
        Example.FromString(record).features.feature
        for record in read_records(f"{written.uri}/Split-{split}/examples-00000-of-00001.gz")
    ]


def test_every_example_of_the_splits_asked_for_gets_a_prediction_log(tmp_path, model, examples):
    import tensorflow as tf

    some = BulkInferrer(
        examples=examples, model=model, data_spec=DataSpec(example_splits=["unlabelled"])
    ).with_id("some")
    plain = BulkInferrer(
        examples=examples, model=model, model_spec=ModelSpec(model_signature_name=["plain"])
    ).with_id("plain")

    for_some, for_all = infer(tmp_path, some, plain)

    (log,) = logs(for_some)
    request, response = log.predict_log.request, log.predict_log.response
    assert request.model_spec.signature_name == "serving_default"
    assert list(request.inputs) == ["examples"]
    assert tf.make_ndarray(response.outputs["y"]).tolist() == [[8.0]]
    answers = [tf.make_ndarray(one.predict_log.response.outputs["y"]) for one in logs(for_all)]
    assert [answer.tolist() for answer in answers] == [[[2.0]], [[4.0]], [[6.0]], [[8.0]]]
    assert for_some["inference_result"][0].get_int_custom_property("inferred") == 1


def test_classifiers_and_regressors_are_logged_as_such(tmp_path, estimator, examples):
    steps = [
        BulkInferrer(
            examples=examples,
            model=estimator,
            data_spec={"example_splits": ["unlabelled"]},
            model_spec={"model_signature_name": names},
        ).with_id("_".join(names))
        for names in (["classification"], ["regression"], ["classification", "regression"])
    ]

    (classified,), (regressed,), (both,) = map(logs, infer(tmp_path, *steps))

    (classes,) = classified.classify_log.response.result.classifications
    assert [(one.label, round(one.score, 6)) for one in classes.classes] == [
        ("small", 0.6),
        ("big", 0.4),
    ]
    assert regressed.regress_log.response.result.regressions[0].value == 12.0
    assert regressed.regress_log.request.input.example_list.examples[0].features.feature[
        "x"
    ].float_list.value == [4.0]
    assert [
        result.WhichOneof("result") for result in both.multi_inference_log.response.results
    ] == ["classification_result", "regression_result"]


def test_predictions_become_features_of_the_examples(tmp_path, model, estimator, examples):
    predicting = BulkInferrer(
        examples=examples,
        model=model,
        output_example_spec=OutputExampleSpec(
            output_columns_spec=[
                {
                    "predict_output": {
                        "output_columns": [
                            {"output_key": "y", "output_column": "twice"},
                            {"output_key": "is_big", "output_column": "big"},
                            {"output_key": "name", "output_column": "text"},
                        ]
                    }
                }
            ]
        ),
    ).with_id("predicting")
    classifying = BulkInferrer(
        examples=examples,
        model=estimator,
        model_spec={"model_signature_name": ["classification", "regression"]},
        output_example_spec={
            "output_columns_spec": [
                {
                    "signature_name": "classification",
                    "classify_output": {"label_column": "labels", "score_column": "scores"},
                },
                {"signature_name": "regression", "regress_output": {"value_column": "value"}},
            ]
        },
    ).with_id("classifying")

    predicted, classified = infer(tmp_path, predicting, classifying)

    assert predicted["output_examples"][0].splits == ["train", "unlabelled"]
    assert [one["twice"].float_list.value for one in features(predicted, "train")] == [
        [2.0],
        [4.0],
        [6.0],
    ]
    (one,) = features(predicted, "unlabelled")
    assert one["x"].float_list.value == [4.0]
    assert one["big"].int64_list.value == [1]
    assert one["text"].bytes_list.value == [b"4.000000"]
    (one,) = features(classified, "unlabelled")
    assert one["labels"].bytes_list.value == [b"small", b"big"]
    assert one["value"].float_list.value == [12.0]


def test_a_model_that_is_not_blessed_is_not_asked(tmp_path, model, examples):
    refused = BulkInferrer(
        examples=examples,
        model=model,
        model_blessing=blessing_channel(tmp_path / "refused", blessed=False),
    ).with_id("refused")
    blessed = BulkInferrer(
        examples=examples,
        model=model,
        model_blessing=blessing_channel(tmp_path / "blessed", blessed=True),
    ).with_id("blessed")

    for_refused, for_blessed = infer(tmp_path, refused, blessed)

    assert for_refused["inference_result"][0].get_int_custom_property("inferred") == 0
    assert len(logs(for_blessed)) == 4


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"model_spec": {"model_signature_name": ["prdict"]}}, "it has plain, serving_default"),
        ({"model_spec": {"model_signature_name": ["total"]}}, "it should have a row for each"),
        ({"data_spec": {"example_splits": ["evil"]}}, r"no split 'evil'; it has \['train'"),
        ({"model_spec": {"tag": ["gpu"]}}, r"no graph with the tags \['gpu'\]; it has \['serve'\]"),
        (
            {
                "output_example_spec": {
                    "output_columns_spec": [
                        {
                            "predict_output": {
                                "output_columns": [{"output_key": "z", "output_column": "z"}]
                            }
                        }
                    ]
                }
            },
            "no output 'z'; it has is_big, name, y",
        ),
    ],
)
def test_what_cannot_be_asked_is_told(tmp_path, model, examples, given, told):
    step = BulkInferrer(examples=examples, model=model, **given)
    outputs = {key: [channel.type()] for key, channel in step.outputs.items()}
    for (artifact,) in outputs.values():
        artifact.uri = str(tmp_path)

    with pytest.raises((StokerError, ValueError), match=told):
        Executor().Do(
            {"examples": examples.get(), "model": model.get()}, outputs, step.exec_properties
        )
