# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from stoker.dsl.proto.eval_config_pb2 import SlicingSpec
from stoker.errors import BadData, MissingPart
from stoker.evaluation.config import as_eval_config, with_defaults
from stoker.evaluation.engine import Batch, MetricId, make_plan, measure_and_draw
from stoker.evaluation.features import Feature
from stoker.evaluation.metrics import name_of
from stoker.evaluation.results import read_metrics, write_evaluation
from stoker.evaluation.thresholds import validate
from stoker.stand_ins.tfma import metrics as tfma_metrics
from stoker.stand_ins.tfma import post_export_metrics
from stoker.stand_ins.tfma.constants import MODEL_CENTRIC_MODE
from stoker.stand_ins.tfma.dataframes import (
    auto_pivot,
    metrics_as_dataframes,
    plots_as_dataframes,
)
from stoker.stand_ins.tfma.fairness import FairnessView, render_fairness_indicator
from stoker.stand_ins.tfma.results import (
    load_eval_result,
    load_eval_results,
    load_metrics,
    load_plots,
    load_validation_result,
    make_eval_results,
)
from stoker.stand_ins.tfma.slicer import SingleSliceSpec
from stoker.stand_ins.tfma.view import render_plot, render_slicing_metrics, render_time_series
from stoker.views.plot_views import draw_plots
from stoker.views.table import Table

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


def test_metrics_of_the_best_classes_have_a_place_of_their_own(tmp_path):
    metrics = [{"class_name": "Recall"}, {"class_name": "Recall", "config": '"top_k": 1'}]
    metrics[1]["threshold"] = {"value_threshold": {"lower_bound": 0.5}}
    given = {"metrics_specs": [{"metrics": metrics}]}
    config = with_defaults(as_eval_config(given), has_baseline=False)
    values = {(): {MetricId("recall"): 0.75, MetricId("recall", top_k=1): 0.25}}
    verdict = validate(make_plan(config), values, rubber_stamp=False)
    assert not verdict.validation_ok
    write_evaluation(str(tmp_path), config, values, verdict, data_location="x", models={})
    result = load_eval_result(str(tmp_path))
    assert result.get_metrics_for_slice() == {"recall": {"doubleValue": 0.75}}
    assert result.get_metrics_for_slice(top_k=1) == {"recall": {"doubleValue": 0.25}}
    assert result.slicing_metrics[0].metrics[""].keys() == {"", "topK:1"}
    assert read_metrics(str(tmp_path)) == values


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


@pytest.fixture
def drawn(tmp_path):
    """An evaluation with plots and Fairness Indicators, by color."""
    plots = [{"class_name": name} for name in ("ConfusionMatrixPlot", "CalibrationPlot")]
    fairness = {"class_name": "FairnessIndicators", "config": '"thresholds": [0.25, 0.5]'}
    given = {
        "model_specs": [{"label_key": "label"}],
        "slicing_specs": [{}, {"feature_keys": ["color"]}],
        "metrics_specs": [{"metrics": [*plots, fairness]}],
    }
    config = with_defaults(as_eval_config(given), has_baseline=False)
    rng = np.random.default_rng(0)
    labels, colors = rng.integers(2, size=60), np.array([[b"red"], [b"blue"]] * 30, object)
    features = {"label": Feature.of_rows(labels[:, None]), "color": Feature.of_rows(colors)}
    scores = labels * 0.3 + rng.random(60) * 0.7
    plan = make_plan(config)
    batch = Batch({"": features}, {"": {"": scores}}, [b""] * 60)
    values, made = measure_and_draw(plan, [batch])
    verdict = validate(plan, values, rubber_stamp=False)
    where = {"data_location": "x", "models": {"": "m"}}
    write_evaluation(str(tmp_path), config, values, verdict, **where, drawn=made)
    return str(tmp_path)


def test_plots_are_drawn_as_curves(drawn):
    result = load_eval_result(drawn)

    plots = render_plot(result, SlicingSpec(feature_values={"color": "red"}))
    page = plots._repr_html_()
    assert page.count("<polyline") == 6
    assert "ROC curve" in page
    assert [line.split()[0] for line in str(plots).splitlines()] == [
        *("THRESHOLD", "0.1", "0.25", "0.5", "0.75", "0.9"),
    ]
    assert len(list(load_plots(drawn))) == 3
    with pytest.raises(ValueError, match="no plots of such a slice"):
        render_plot(result, SlicingSpec(feature_values={"color": "green"}))
    with pytest.raises(MissingPart, match="Plots of one class"):
        render_plot(result, class_id=1)


def test_classes_that_are_taken_for_others_are_a_table():
    entries = [
        {"numWeightedExamples": 4.0},
        {"actualClassId": 1, "predictedClassId": -1, "numWeightedExamples": 2.0},
    ]
    matrices = {"matrices": [{"entries": entries}]}
    table, charts = draw_plots({"multiClassConfusionMatrixAtThresholds": matrices})
    assert charts == []
    assert (table.columns, table.rows) == (
        ("class", "no class", "said 0", "said 1"),
        [("0", "0", "4", "0"), ("1", "2", "0", "0")],
    )


def test_each_rate_of_fairness_has_a_table_of_thresholds(drawn):
    page = render_fairness_indicator(eval_result=load_eval_result(drawn))._repr_html_()
    assert page.count("<h3>") == 10
    assert "<h3>false_positive_rate<" in page
    assert page.count("<th>0.25</th><th>0.50</th>") == 10
    by_color = render_fairness_indicator(load_eval_result(drawn), slicing_column="color")
    assert len(str(by_color).splitlines()) == 4


def test_a_metric_without_thresholds_is_not_shown_by_them():
    page = FairnessView(Table(columns=["slice", "auc"], rows=[["all examples", "0.5"]]))
    assert "by threshold" not in page._repr_html_()


def test_results_become_data_frames(drawn):
    found = metrics_as_dataframes(load_metrics(drawn)).double_value
    assert {*found.columns.get_level_values(0)} == {"slices", "metric_keys", "metric_values"}
    assert len(found) == 3 * 20
    pivot = auto_pivot(found)
    assert sorted(pivot.index) == ["Overall:", "color:blue", "color:red"]
    assert len(pivot.columns) == 20
    plots = plots_as_dataframes(load_plots(drawn))
    assert len(plots.confusion_matrix_at_thresholds) == 3 * 1002
    assert ("plot_data", "precision") in plots.confusion_matrix_at_thresholds.columns
    assert len(plots.calibration_histogram_buckets) == 3 * 1002


def test_metrics_may_be_objects():
    specs = tfma_metrics.specs_from_metrics(
        [tfma_metrics.ExampleCount(name="count"), post_export_metrics.auc(curve="PR")],
        model_names=["candidate"],
    )
    names = [(one.class_name, name_of(one)) for spec in specs for one in spec.metrics]
    assert names == [("ExampleCount", "count"), ("AUC", "post_export_metrics/auprc")]
    assert specs[0].model_names == ["candidate"]
    (binary,) = tfma_metrics.default_binary_classification_specs()
    assert "CalibrationPlot" in [one.class_name for one in binary.metrics]


def test_fairness_is_looked_at_slice_by_slice(folder):
    table = render_fairness_indicator(eval_result=load_eval_result(folder))

    assert [line.split()[0] for line in str(table).splitlines()[1:]] == ["all", "color=blue"]
    both = render_fairness_indicator(multi_eval_results={"a": load_eval_result(folder)})
    assert "color=blue · a" in str(both)
