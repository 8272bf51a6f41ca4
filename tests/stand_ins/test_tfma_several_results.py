# SPDX-License-Identifier: Apache-2.0
"""The evaluations of several models, as notebooks of older TFMAs ask for them."""

import re

import pytest

from stoker.evaluation.config import as_eval_config, with_defaults
from stoker.evaluation.engine import MetricId, make_plan
from stoker.evaluation.results import write_evaluation
from stoker.evaluation.thresholds import validate
from stoker.stand_ins.tfma.constants import DATA_CENTRIC_MODE, MODEL_CENTRIC_MODE
from stoker.stand_ins.tfma.results import load_eval_result, load_eval_results, make_eval_results
from stoker.stand_ins.tfma.slicer import SingleSliceSpec
from stoker.stand_ins.tfma.view import render_slicing_metrics, render_time_series


@pytest.fixture
def folders(tmp_path):
    given = {"metrics_specs": [{"metrics": [{"class_name": "AUC"}]}]}
    config = with_defaults(as_eval_config(given), has_baseline=False)
    for name, auc in (("monday", 0.75), ("friday", 0.5)):
        values = {(): {MetricId("auc"): auc}}
        verdict = validate(make_plan(config), values, rubber_stamp=False)
        write_evaluation(
            str(tmp_path / name), config, values, verdict, data_location=name, models={"": name}
        )
    return [str(tmp_path / "monday"), str(tmp_path / "friday")]


def test_the_mode_may_be_where_older_tfmas_had_it(folders):
    results = load_eval_results(folders, DATA_CENTRIC_MODE)

    assert results.get_mode() == DATA_CENTRIC_MODE
    rows = str(render_time_series(results, SingleSliceSpec())).splitlines()[1:]
    assert [row.split() for row in rows] == [["monday", "0.75"], ["friday", "0.5"]]


def test_a_line_is_drawn_from_one_evaluation_to_the_next(folders):
    drawn = render_time_series(load_eval_results(folders))._repr_html_()
    [colour] = re.findall(r'<polyline class="([\w-]+)"', drawn)
    assert f".stoker .{colour} {{ --colour" in drawn
    assert "0.5 at evaluation 2" in drawn


def test_one_result_is_shown_where_there_may_be_several_and_the_first_where_one_is_meant(folders):
    assert "monday" in str(render_time_series(load_eval_result(folders[0])))
    assert "0.75" in str(render_slicing_metrics(load_eval_results(folders)))


def test_evaluations_of_one_model_are_told_apart_by_their_data(folders):
    results = [load_eval_result(folder)._replace(model_location="model") for folder in folders]
    shown = str(render_time_series(make_eval_results(results, MODEL_CENTRIC_MODE)))
    assert [row.split()[0] for row in shown.splitlines()[1:]] == ["monday", "friday"]
