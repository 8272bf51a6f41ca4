# SPDX-License-Identifier: Apache-2.0
"""Fairness Indicators and plots, held against what TFMA says of the same 40 examples.

tfma_answers.json has the answers of TFMA: Fairness Indicators of 0.46, plots of 0.52.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import json_format

from stoker.dsl.proto.eval_config_pb2 import MetricConfig
from stoker.errors import BadData
from stoker.evaluation.accumulators import Scored
from stoker.evaluation.config import as_eval_config, with_defaults
from stoker.evaluation.engine import Batch, make_plan, measure_and_draw
from stoker.evaluation.features import Feature
from stoker.evaluation.metrics import NeedsTfma, make_metrics, make_plots

ANSWERS = json.loads(Path(__file__).with_name("tfma_answers.json").read_text())
RNG = np.random.default_rng(7)
LABELS = RNG.integers(2, size=40)
SCORES = np.round(np.clip(LABELS * 0.3 + RNG.random(40) * 0.7, 0, 1), 3)
WEIGHTS = np.round(RNG.random(40), 2)
CLASS_SCORES = np.round(RNG.dirichlet(np.ones(3), size=20), 3)
CLASSES = RNG.integers(3, size=20)


def sum_up(statistic, labels=LABELS, scores=SCORES, weights=WEIGHTS):
    sums = np.zeros((1, statistic.width))
    rows = np.arange(len(labels))
    statistic.add(sums, Scored(labels, scores, weights), rows, rows * 0)
    return sums[0]


def draw(class_name, *examples, **settings):
    config = MetricConfig(class_name=class_name, config=json.dumps(settings))
    (plot,) = make_plots(config)
    return json_format.MessageToDict(plot.draw(sum_up(plot.statistic, *examples)))


def approximate(message):
    """The same with numbers that may differ a little."""
    if isinstance(message, dict):
        return {key: approximate(value) for key, value in message.items()}
    if isinstance(message, list):
        return [approximate(one) for one in message]
    return pytest.approx(message, abs=1e-6) if isinstance(message, float) else message


def test_fairness_indicators_are_rates_at_each_threshold():
    config = MetricConfig(class_name="FairnessIndicators", config='"thresholds": [0.25, 0.5]')
    found = {one.name: one.formula(sum_up(one.statistic)) for one in make_metrics(config)}
    assert found == approximate(ANSWERS["fairness"])


def test_by_default_there_are_nine_thresholds():
    names = [one.name for one in make_metrics(MetricConfig(class_name="FairnessIndicators"))]
    assert len(names) == 90
    assert names[0] == "fairness_indicators_metrics/false_positive_rate@0.1"


def test_confusion_matrices_are_drawn_at_thresholds():
    found = draw("ConfusionMatrixPlot", num_thresholds=4)
    assert found["confusionMatrixAtThresholds"] == approximate(ANSWERS["confusion"])


def test_calibration_is_drawn_by_buckets():
    found = draw("CalibrationPlot", num_buckets=4)
    assert found["calibrationHistogramBuckets"] == approximate(ANSWERS["calibration"])


def test_classes_that_are_taken_for_others_are_counted():
    found = draw("MultiClassConfusionMatrixPlot", CLASSES, CLASS_SCORES, np.ones(20))
    assert found["multiClassConfusionMatrixAtThresholds"] == approximate(ANSWERS["classes"])
    with pytest.raises(BadData, match="a score for each of at most 128 classes"):
        draw("MultiClassConfusionMatrixPlot")


def test_settings_that_only_tfma_knows_are_told():
    with pytest.raises(NeedsTfma, match="thresholds"):
        draw("MultiClassConfusionMatrixPlot", thresholds=[0.5])


def test_every_slice_has_its_plots_and_usual_ones_share_a_message():
    plots = [{"class_name": name} for name in ("ConfusionMatrixPlot", "CalibrationPlot")]
    named = {"class_name": "CalibrationPlot", "config": '"name": "mine"'}
    given = {
        "model_specs": [{"label_key": "label"}],
        "slicing_specs": [{}, {"feature_keys": ["half"]}],
        "metrics_specs": [{"metrics": [*plots, named]}],
    }
    features = {
        "label": Feature.of_rows(LABELS[:, None]),
        "half": Feature.of_rows(np.arange(40)[:, None] // 20),
    }
    plan = make_plan(with_defaults(as_eval_config(given), has_baseline=False))
    _, drawn = measure_and_draw(plan, [Batch({"": features}, {"": {"": SCORES}}, [b""] * 40)])
    assert [[one.name for one in plots] for plots in drawn.values()] == [["", "mine"]] * 3
    ((first, _), *_) = (list(plots.values()) for plots in drawn.values())
    assert len(first.confusion_matrix_at_thresholds.matrices) == 1002
    assert len(first.calibration_histogram_buckets.buckets) == 1002
