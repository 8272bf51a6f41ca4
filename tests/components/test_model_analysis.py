# SPDX-License-Identifier: Apache-2.0
"""The cells of TFMA's tutorial: a model in a folder, files of examples, metrics by slice."""

import pytest
import tensorflow_model_analysis as tfma
from evaluated_models import labelled_channel, save_classifier, save_opposite
from google.protobuf import text_format

from stoker.errors import BadData, MissingPart

pytestmark = pytest.mark.tf

CONFIG = """
    model_specs { label_key: "label" }
    metrics_specs { metrics { class_name: "BinaryAccuracy" } }
    metrics_specs { metrics { class_name: "ExampleCount" } }
    slicing_specs {}
    slicing_specs { feature_keys: "color" }
"""


_OF_NO_FILE = "<user provided PCollection>", "<unknown>"


@pytest.fixture(scope="module")
def config():
    return text_format.Parse(CONFIG, tfma.EvalConfig())


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    (examples,) = labelled_channel(tmp_path_factory.mktemp("data")).get()
    return f"{examples.uri}/Split-eval/*"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_classifier(folder / "good")
    save_opposite(folder / "bad")
    return folder


def test_a_model_is_evaluated_by_slice(tmp_path, config, data, models):
    model = tfma.default_eval_shared_model(
        eval_saved_model_path=str(models / "good"), eval_config=config
    )
    result = tfma.run_model_analysis(
        eval_shared_model=model,
        eval_config=config,
        data_location=data,
        output_path=str(tmp_path / "out"),
    )
    assert (result.data_location, result.file_format) == (data, "tfrecords")
    everything = result.get_metrics_for_slice()
    by_color = [key for key in result.get_slice_names() if key]
    assert everything["example_count"]["doubleValue"] > 0
    assert {name for ((name, _),) in by_color} == {"color"}
    assert tfma.load_eval_result(str(tmp_path / "out")).get_metrics_for_slice() == everything
    assert "color=" in str(tfma.view.render_slicing_metrics(result, slicing_column="color"))


def test_a_baseline_is_compared_with(config, data, models):
    result = tfma.run_model_analysis(
        [
            tfma.default_eval_shared_model(
                str(models / "bad"), model_name=tfma.BASELINE_KEY, eval_config=config
            ),
            tfma.default_eval_shared_model(
                str(models / "good"), model_name=tfma.CANDIDATE_KEY, eval_config=config
            ),
        ],
        eval_config=config,
        data_location=data,
    )
    new, old = result.get_results()
    assert new.get_metrics_for_slice()["binary_accuracy_diff"]["doubleValue"] > 0
    assert "binary_accuracy_diff" not in old.get_metrics_for_slice()


def test_what_cannot_be_done_is_said_before_anything_is_read(config, models):
    model = tfma.default_eval_shared_model(str(models / "good"))
    with pytest.raises(MissingPart, match="evaluators=…"):
        tfma.run_model_analysis(model, config, "x", evaluators=["mine"])
    with pytest.raises(BadData, match="No file matches"):
        tfma.run_model_analysis(model, config, "nowhere/*")
    with pytest.raises(BadData, match="No file matches"):
        tfma.run_model_analysis(None, config, "nowhere/*")


def test_examples_of_a_beam_pipeline_are_evaluated(tmp_path, config, data, models):
    import apache_beam as beam
    from tfx_bsl.public import tfxio

    model = tfma.default_eval_shared_model(str(models / "good"), eval_config=config)
    source = tfxio.TFExampleRecord(data, raw_record_column_name=tfma.ARROW_INPUT_COLUMN)
    with beam.Pipeline() as pipeline:
        _ = (
            pipeline
            | "Read" >> source.BeamSource()
            | "Evaluate"
            >> tfma.ExtractEvaluateAndWriteResults(
                eval_shared_model=model, eval_config=config, output_path=str(tmp_path)
            )
        )
    result = tfma.load_eval_result(str(tmp_path))
    assert result.get_metrics_for_slice()["example_count"] == {"doubleValue": 600.0}
    assert (result.data_location, result.file_format) == _OF_NO_FILE


def test_predictions_of_a_data_frame_are_evaluated():
    import pandas as pd

    frame = pd.DataFrame({"y": [0, 1, 1], "score": [0.2, 0.9, 0.3], "color": ["red", "", "red"]})
    given = {
        "model_specs": [{"label_key": "y", "prediction_key": "score"}],
        "metrics_specs": [{"metrics": [{"class_name": "BinaryAccuracy"}]}],
        "slicing_specs": [{}, {"feature_keys": ["color"]}],
    }
    result = tfma.analyze_raw_data(frame, given)
    assert (result.data_location, result.file_format) == _OF_NO_FILE
    assert result.get_metrics_for_slice((("color", "red"),)) == {
        "binary_accuracy": {"doubleValue": 0.5}
    }


def test_metrics_of_older_calls_are_computed(data, models):
    model = tfma.default_eval_shared_model(
        str(models / "good"), add_metrics_callbacks=[tfma.post_export_metrics.auc()]
    )
    config = tfma.EvalConfig(model_specs=[tfma.ModelSpec(label_key="label")])
    result = tfma.run_model_analysis(
        model, config, data, slice_spec=[tfma.slicer.SingleSliceSpec(columns=["color"])]
    )
    assert result.get_metric_names() == ["post_export_metrics/auc"]
    assert len(result.get_slice_names()) == 3
