# SPDX-License-Identifier: Apache-2.0
import json

import pyarrow as pa
import pytest

from stoker.artifacts import ExampleStatistics, Model, ModelEvaluation, Schema
from stoker.evaluation.config import as_eval_config, with_defaults
from stoker.evaluation.engine import MetricId, make_plan
from stoker.evaluation.results import write_evaluation
from stoker.evaluation.thresholds import validate
from stoker.statistics.compute import compute_statistics, write_statistics
from stoker.views.artifact_views import html_view, preview

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


def test_a_column_with_empty_cells_is_not_called_required(tmp_path):
    (tmp_path / "schema.pbtxt").write_text(
        "feature { name: 'full' type: INT presence { min_fraction: 1 } shape { dim { size: 1 } } }"
        "feature { name: 'holes' type: INT presence { min_fraction: 1 } }"
        "feature { name: 'rare' type: INT presence { min_count: 1 } value_count { min: 1 } }"
    )
    schema = Schema()
    schema.uri = str(tmp_path)
    (table,) = preview(schema)
    presence = {row[0]: row[2] for row in table.rows}
    assert presence == {"full": "required", "holes": "may be empty", "rare": "optional"}


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


def test_statistics_tell_an_empty_value_from_a_missing_one(tmp_path):
    """An empty cell of a CSV file is a feature without a value: TFX does not call it missing."""
    columns = {
        "age": [[1], [], [], [4]],
        "word": [[b"a"], None, [], [b"d"]],
        "many": [[1, 2], [], [3, 4], []],
        "rarely": [[1, 2]] * 3 + [[]],
    }
    batch = pa.record_batch(
        [pa.array(columns["age"], pa.large_list(pa.int64()))]
        + [pa.array(columns["word"], pa.large_list(pa.large_binary()))]
        + [pa.array(columns[name], pa.large_list(pa.int64())) for name in ("many", "rarely")],
        list(columns),
    )
    artifact = ExampleStatistics()
    artifact.uri, artifact.splits = str(tmp_path), ["train"]
    write_statistics(compute_statistics([batch]), f"{artifact.path(split='train')}/FeatureStats.pb")

    (table,) = preview(artifact)

    assert table.columns[2:4] == ("missing", "empty")
    shares = {name: (missing, empty) for name, _, missing, empty, *_ in table.rows}
    assert shares == {
        "age": ("0", "50.0%"),
        "word": ("25.0%", "25.0%"),
        "many": ("0", "50.0%"),
        "rarely": ("0", "25.0%"),
    }
    assert "<th>empty</th>" in html_view(artifact)
