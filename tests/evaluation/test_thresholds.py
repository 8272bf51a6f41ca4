# SPDX-License-Identifier: Apache-2.0
import math

import pytest

from stoker.errors import MissingPart
from stoker.evaluation.chosen_engine import choose_engine
from stoker.evaluation.config import as_eval_config, has_thresholds, with_defaults
from stoker.evaluation.engine import MetricId, make_plan
from stoker.evaluation.results import read_metrics, read_validation, write_evaluation
from stoker.evaluation.summary import failures, metrics_table, summarize
from stoker.evaluation.thresholds import check_thresholds, validate

BLUE, RED = (("color", "blue"),), (("color", "red"),)


def config_with(has_baseline=False, **metric):
    given = {"metrics_specs": [{"metrics": [{"class_name": "AUC", **metric}]}]}
    return with_defaults(as_eval_config(given), has_baseline=has_baseline)


def verdict(metric, values, *, has_baseline=False, rubber_stamp=False):
    plan = make_plan(config_with(has_baseline, **metric))
    check_thresholds(plan)
    return validate(plan, values, rubber_stamp=rubber_stamp)


def bounds(**given):
    return {"threshold": {"value_threshold": given}}


@pytest.mark.parametrize(
    ("limits", "value", "ok"),
    [
        ({"lower_bound": 0.5}, 0.5, True),
        ({"lower_bound": 0.5}, 0.49, False),
        ({"upper_bound": 0.5}, 0.51, False),
        ({"lower_bound": 0.4, "upper_bound": 0.6}, 0.5, True),
        ({"lower_bound": 0.0}, math.nan, False),
    ],
)
def test_a_value_is_held_against_its_bounds(limits, value, ok):
    assert verdict(bounds(**limits), {(): {MetricId("auc"): value}}).validation_ok is ok


def test_a_threshold_that_no_metric_is_held_against_fails_as_in_tfma(capsys):
    limit = {"value_threshold": {"lower_bound": 0.1}}
    given = {"metrics_specs": [{"metrics": [{"class_name": "AUC"}], "thresholds": {"AUC": limit}}]}
    plan = make_plan(with_defaults(as_eval_config(given), has_baseline=False))
    check_thresholds(plan)
    found = validate(plan, {(): {MetricId("auc"): 0.9}}, rubber_stamp=False)

    assert not found.validation_ok
    assert found.metric_validations_per_slice[0].failures[0].message == "Metric not found."
    assert next(failures(found)).startswith("AUC of all examples is not computed, and should")
    told = capsys.readouterr().out
    assert "'AUC', which is not computed: the model is not blessed. Those that are: auc" in told


@pytest.mark.parametrize(
    ("change", "now", "ok"),
    [
        ({"absolute": 0.0, "direction": "HIGHER_IS_BETTER"}, 0.5, True),
        ({"absolute": 0.1, "direction": "HIGHER_IS_BETTER"}, 0.55, False),
        ({"absolute": 0.1, "direction": "LOWER_IS_BETTER"}, 0.55, True),
        ({"relative": 0.2, "direction": "HIGHER_IS_BETTER"}, 0.59, False),
        ({"relative": 0.2, "direction": "HIGHER_IS_BETTER"}, 0.61, True),
    ],
)
def test_a_change_is_held_against_the_baseline(change, now, ok):
    values = {
        MetricId("auc", "candidate"): now,
        MetricId("auc", "baseline"): 0.5,
        MetricId("auc", "candidate", is_diff=True): now - 0.5,
    }
    metric = {"threshold": {"change_threshold": change}}
    assert verdict(metric, {(): values}, has_baseline=True).validation_ok is ok


def test_a_change_without_a_direction_is_told():
    with pytest.raises(ValueError, match="'auc' has no direction"):
        verdict({"threshold": {"change_threshold": {"absolute": 1}}}, {}, has_baseline=True)


def test_a_threshold_is_for_every_slice_and_one_of_a_slice_for_that():
    values = {key: {MetricId("auc"): value} for key, value in (((), 0.9), (BLUE, 0.4), (RED, 0.6))}
    everywhere = verdict(bounds(lower_bound=0.5), values)
    assert [line.split(" is ")[0] for line in failures(everywhere)] == ["auc of color=blue"]
    assert everywhere.validation_details.slicing_details[0].num_matching_slices == 3
    red = {"slicing_specs": [{"feature_values": {"color": "red"}}], **bounds(lower_bound=0.5)}
    assert verdict({"per_slice_thresholds": [red]}, values).validation_ok


def test_a_threshold_for_a_slice_that_is_not_there_fails():
    green = {"slicing_specs": [{"feature_values": {"color": "green"}}], **bounds(lower_bound=0)}
    found = verdict({"per_slice_thresholds": [green]}, {(): {MetricId("auc"): 1.0}})
    assert not found.validation_ok
    assert list(failures(found)) == [
        "There is a threshold for the slices color=green, but no such slice."
    ]


def test_without_thresholds_there_is_no_verdict():
    found = verdict({}, {(): {MetricId("auc"): 1.0}})
    assert (found.validation_ok, found.missing_thresholds) == (False, True)
    assert not has_thresholds(config_with())
    assert verdict({}, {(): {MetricId("auc"): 1.0}}, rubber_stamp=True).validation_ok


def test_an_evaluation_is_read_as_it_was_written(tmp_path):
    config = config_with(**bounds(lower_bound=0.5))
    values = {
        (): {MetricId("auc"): 0.75},
        (("color", "blue"), ("size", 3)): {MetricId("auc"): 0.25},
        (("ratio", 0.5),): {MetricId("auc"): 1.0},
    }
    found = validate(make_plan(config), values, rubber_stamp=False)
    write_evaluation(str(tmp_path), config, values, found, data_location="x", models={"": "m"})

    assert read_metrics(str(tmp_path)) == values
    assert read_validation(str(tmp_path)) == found
    assert metrics_table(values)[1][0] == ["all examples", "0.75"]
    told = list(summarize(values, found))
    assert told[0] == "Metrics of all examples (2 slices more):"
    assert "auc of color=blue, size=3 is 0.25, and should be at least 0.5." in told


def test_what_needs_tfma_names_the_part_and_the_package():
    with pytest.raises(MissingPart, match=r"only TFMA has the metric NDCG\).*stoker\[evaluator\]"):
        choose_engine(config_with(class_name="NDCG"), None)
    with pytest.raises(ValueError, match="cannot compute the metric NDCG: leave engine out"):
        choose_engine(config_with(class_name="NDCG"), "stoker")
    assert "Stoker's own engine" in str(choose_engine(config_with(), None))


@pytest.mark.parametrize(
    "part",
    [
        {"options": {"compute_confidence_intervals": True}},
        {"metrics_specs": [{"binarize": {"class_ids": {"values": [1]}}}]},
        {"slicing_specs": [{"slice_keys_sql": "SELECT 1"}]},
        {"model_specs": [{"label_keys": {"a": "b"}}]},
    ],
)
def test_parts_that_only_tfma_knows_are_not_dropped(part):
    config = with_defaults(as_eval_config(part), has_baseline=False)
    with pytest.raises(MissingPart, match="only TFMA has"):
        choose_engine(config, None)
