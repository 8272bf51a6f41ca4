# SPDX-License-Identifier: Apache-2.0
import pytest

from stoker.errors import BadData
from stoker.evaluation.config import as_eval_config, with_defaults
from stoker.evaluation.engine import MetricId, make_plan
from stoker.evaluation.results import write_evaluation
from stoker.evaluation.thresholds import validate
from stoker.stand_ins.tfma.constants import MODEL_CENTRIC_MODE
from stoker.stand_ins.tfma.fairness import render_fairness_indicator
from stoker.stand_ins.tfma.results import (
    load_eval_result,
    load_eval_results,
    load_metrics,
    load_validation_result,
    make_eval_results,
)
from stoker.stand_ins.tfma.slicer import SingleSliceSpec
from stoker.stand_ins.tfma.view import render_slicing_metrics, render_time_series

BLUE = (("color", "blue"),)


@pytest.fixture
def folder(tmp_path):
    """An evaluation of two models: by color, the candidate is better everywhere."""
    given = {"metrics_specs": [{"metrics": [{"class_name": "AUC"}]}]}
    config = with_defaults(as_eval_config(given), has_baseline=True)
    values = {
        key: {
            MetricId("auc", "candidate"): auc,
            MetricId("auc", "baseline"): 0.5,
            MetricId("auc", "candidate", is_diff=True): auc - 0.5,
        }
        for key, auc in (((), 0.75), (BLUE, 1.0))
    }
    verdict = validate(make_plan(config), values, rubber_stamp=False)
    models = {"candidate": "new", "baseline": "old"}
    write_evaluation(str(tmp_path), config, values, verdict, data_location="x", models=models)
    return str(tmp_path)


def test_an_evaluation_is_read_as_with_tfma(folder):
    result = load_eval_result(folder)

    assert result.get_metrics_for_slice() == {
        "auc": {"doubleValue": 0.75},
        "auc_diff": {"doubleValue": 0.25},
    }
    assert result.slicing_metrics[1] == (BLUE, {"": {"": result.get_metrics_for_slice(BLUE)}})
    assert (result.get_slice_names(), result.model_location) == ([(), BLUE], "new")
    assert result.get_metric_names() == ["auc", "auc_diff"]
    old = load_eval_result(folder, model_name="baseline")
    assert old.get_metrics_for_slice() == {"auc": {"doubleValue": 0.5}}
    assert [len(one.metric_keys_and_values) for one in load_metrics(folder)] == [3, 3]
    assert load_validation_result(folder).missing_thresholds


def test_a_notebook_shows_a_table_of_metrics(folder):
    result = load_eval_result(folder)

    assert "<td>all examples</td><td>0.75<" in render_slicing_metrics(result)._repr_html_()
    by_color = str(render_slicing_metrics(result, slicing_column="color"))
    assert by_color.splitlines()[1].split() == ["color=blue", "1", "0.5"]
    with pytest.raises(ValueError, match="no such slices; it has those by all examples; color"):
        render_slicing_metrics(result, slicing_column="size")


def test_a_folder_without_an_evaluation_is_told(folder, tmp_path):
    with pytest.raises(BadData, match=r"no evaluation in .*: it has no eval_config.json"):
        load_eval_result(str(tmp_path / "elsewhere"))
    with pytest.raises(ValueError, match="no model 'other'; it has baseline, candidate"):
        load_eval_result(folder, model_name="other")


def test_several_evaluations_are_shown_one_after_the_other(folder):
    results = load_eval_results([folder, folder], mode=MODEL_CENTRIC_MODE)

    series = render_time_series(results, SingleSliceSpec(features=[("color", "blue")]))
    assert [line.split()[:2] for line in str(series).splitlines()[1:]] == [["new", "1"]] * 2
    assert series._repr_html_().count("<polyline") == 2
    with pytest.raises(ValueError, match="one slice"):
        render_time_series(results, SingleSliceSpec(columns=["shape"]))
    with pytest.raises(ValueError, match="model_centric_mode"):
        make_eval_results(results.get_results(), "sideways")


def test_fairness_is_looked_at_slice_by_slice(folder):
    table = render_fairness_indicator(eval_result=load_eval_result(folder))

    assert [line.split()[0] for line in str(table).splitlines()[1:]] == ["all", "color=blue"]
    both = render_fairness_indicator(multi_eval_results={"a": load_eval_result(folder)})
    assert "color=blue · a" in str(both)
