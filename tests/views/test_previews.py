# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from stoker.artifacts import Model, ModelEvaluation, Schema
from stoker.evaluation.config import as_eval_config, with_defaults
from stoker.evaluation.engine import MetricId, make_plan
from stoker.evaluation.results import write_evaluation
from stoker.evaluation.thresholds import validate
from stoker.views.artifact_views import preview

SIGNATURES = {
    "serving_default": {
        "inputs": {"examples": {"dtype": "string", "shape": [-1]}},
        "outputs": {"probabilities": {"dtype": "float32", "shape": [-1, 3]}},
    }
}


@pytest.mark.parametrize("recorded", [SIGNATURES, json.dumps(SIGNATURES)], ids=["dict", "text"])
def test_the_signatures_of_a_model_are_a_table(tmp_path, recorded):
    model = Model()
    model.uri = str(tmp_path)
    model.custom_properties["signatures"] = recorded
    (table,) = preview(model)
    assert table.rows == [
        ("serving_default", "examples: string [-1]", "probabilities: float32 [-1, 3]")
    ]


def test_files_that_are_gone_have_no_preview(tmp_path):
    schema = Schema()
    schema.uri = str(tmp_path / "gone")
    assert preview(schema) == []


def test_an_evaluation_is_a_table_of_slices_and_of_what_does_not_hold(tmp_path):
    given = {
        "metrics_specs": [
            {
                "metrics": [
                    {
                        "class_name": "AUC",
                        "threshold": {"value_threshold": {"lower_bound": 0.5}},
                    }
                ]
            }
        ]
    }
    config = with_defaults(as_eval_config(given), has_baseline=False)
    values = {(): {MetricId("auc"): 0.75}, (("color", "red"),): {MetricId("auc"): 0.25}}
    verdict = validate(make_plan(config), values, rubber_stamp=False)
    write_evaluation(str(tmp_path), config, values, verdict, data_location="x", models={})
    evaluation = ModelEvaluation()
    evaluation.uri = str(tmp_path)

    metrics, thresholds = preview(evaluation)

    assert metrics.columns == ("slice", "auc")
    assert metrics.rows == [("all examples", "0.75"), ("color=red", "0.25")]
    assert thresholds.rows == [("auc of color=red is 0.25, and should be at least 0.5.",)]
