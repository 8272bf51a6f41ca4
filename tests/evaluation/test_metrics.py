# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from stoker.dsl.proto.eval_config_pb2 import MetricConfig
from stoker.errors import BadData
from stoker.evaluation.accumulators import Scored
from stoker.evaluation.metrics import METRICS, NeedsTfma, make_metric

RNG = np.random.default_rng(0)
LABELS = RNG.integers(2, size=500)
SCORES = np.clip(LABELS * 0.3 + RNG.random(500) * 0.7, 0, 1).astype(np.float32)
WEIGHTS = RNG.random(500)


def value(class_name, labels=LABELS, scores=SCORES, weights=WEIGHTS, config=""):
    """A metric of some examples, given in two batches."""
    metric = make_metric(MetricConfig(class_name=class_name, config=config))
    sums = np.zeros((1, metric.statistic.width))
    for part in np.array_split(np.arange(len(labels)), 2):
        batch = Scored(np.asarray(labels)[part], np.asarray(scores)[part], weights[part])
        rows = np.arange(len(part))
        metric.statistic.add(sums, batch, rows, np.zeros(len(part), np.int64))
    return metric.formula(sums[0])


@pytest.fixture(scope="module")
def sklearn():
    """Imported when a test needs it: that takes as long as all tests here."""
    from sklearn import metrics

    return metrics


@pytest.mark.parametrize(
    ("class_name", "function", "predicted"),
    [
        ("AUC", "roc_auc_score", SCORES),
        ("BinaryAccuracy", "accuracy_score", SCORES > 0.5),
        ("Precision", "precision_score", SCORES > 0.5),
        ("Recall", "recall_score", SCORES > 0.5),
        ("F1Score", "f1_score", SCORES > 0.5),
        ("BinaryCrossentropy", "log_loss", np.clip(SCORES, 1e-7, 1 - 1e-7)),
        ("MeanSquaredError", "mean_squared_error", SCORES),
        ("MeanAbsoluteError", "mean_absolute_error", SCORES),
    ],
)
def test_metrics_agree_with_scikit_learn(sklearn, class_name, function, predicted):
    expected = getattr(sklearn, function)(LABELS, predicted, sample_weight=WEIGHTS)
    assert value(class_name) == pytest.approx(expected, abs=2e-4)


def test_labels_and_examples_are_weighted():
    assert value("MeanLabel") == pytest.approx(np.average(LABELS, weights=WEIGHTS), abs=2e-4)
    assert value("ExampleCount") == pytest.approx(WEIGHTS.sum(), abs=2e-4)


def test_every_metric_of_one_score_has_a_value():
    names = [name for name in METRICS if "Categorical" not in name and "Percentage" not in name]
    assert [name for name in names if math.isnan(value(name))] == []


def test_classes_are_compared_with_the_best_score():
    scores = np.array([[0.1, 0.7, 0.2], [0.8, 0.1, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]])
    labels, ones = np.array([1, 0, 0, 2]), np.ones(4)
    assert value("SparseCategoricalAccuracy", labels, scores, ones) == 0.5
    assert value("CategoricalAccuracy", np.eye(3)[labels], scores, ones) == 0.5
    expected = -np.log([0.7, 0.8, 0.3, 0.3]).mean()
    assert value("SparseCategoricalCrossentropy", labels, scores, ones) == pytest.approx(expected)
    logits = np.log(scores) + 3
    found = value("SparseCategoricalCrossentropy", labels, logits, ones, '"from_logits": true')
    assert found == pytest.approx(expected)
    with pytest.raises(BadData, match=r"labels have 3 values. Use CategoricalAccuracy"):
        value("SparseCategoricalAccuracy", np.eye(3)[labels], scores, ones)
    with pytest.raises(BadData, match=r"they have 1. .* use SparseCategoricalCrossentropy"):
        value("CategoricalCrossentropy", labels, scores, ones)


def test_a_metric_of_two_classes_takes_several_one_by_one(sklearn):
    scores, labels = RNG.random((100, 3)), RNG.integers(3, size=100)
    yes, one_hot = scores.ravel() > 0.5, np.eye(3)[labels]
    found = [value("Precision", given, scores, np.ones(100)) for given in (labels, one_hot)]
    assert found == [pytest.approx(sklearn.precision_score(one_hot.ravel(), yes))] * 2


def test_only_the_best_classes_of_each_example_may_count():
    """The numbers are TFMA's, of Precision and Recall with top_k, for the same scores."""
    rng = np.random.default_rng(0)
    scores, labels = rng.random((20, 4)).astype(np.float32), rng.integers(0, 4, 20)
    found = {
        (name, k): value(name, labels, scores, np.ones(20), config=f'"top_k": {k}')
        for name in ("Precision", "Recall")
        for k in (1, 2)
    }
    assert found == pytest.approx(
        {("Precision", 1): 0.15, ("Recall", 1): 0.15, ("Precision", 2): 0.2, ("Recall", 2): 0.4}
    )


def test_of_one_score_the_best_is_always_chosen():
    precision = value(
        "Precision", scores=SCORES[:, None], labels=LABELS[:, None], config='"top_k": 1'
    )
    assert precision == pytest.approx(np.average(LABELS, weights=WEIGHTS))
    with pytest.raises(BadData, match=r"the top 2 classes .* the model gives 1"):
        value("Recall", config='"top_k": 2')


def test_settings_are_read_from_json(sklearn):
    at_high = value("Precision", config='"thresholds": [0.9]')
    assert at_high == pytest.approx(
        sklearn.precision_score(LABELS, SCORES > 0.9, sample_weight=WEIGHTS)
    )
    named = make_metric(MetricConfig(class_name="AUC", config='{"name": "area", "curve": "PR"}'))
    assert named.name == "area"
    assert value("AUC", config='"curve": "PR"') == value("AUCPrecisionRecall")
    with pytest.raises(ValueError, match="config of AUC is not JSON"):
        make_metric(MetricConfig(class_name="AUC", config="num_thresholds=3"))


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (MetricConfig(class_name="AUC", config='"multi_label": true'), r"AUC\(multi_label=True\)"),
        (MetricConfig(class_name="Recall", config='"thresholds": [0.1, 0.2]'), "at 2 thresholds"),
        (MetricConfig(class_name="Mine", module="my.metrics"), "my.metrics.Mine"),
        (MetricConfig(class_name="NDCG"), "the metric NDCG"),
    ],
)
def test_what_is_not_plain_is_left_to_tfma(config, told):
    with pytest.raises(NeedsTfma, match=told):
        make_metric(config)


def test_a_metric_that_nobody_has_is_told():
    with pytest.raises(ValueError, match=r"no metric 'Precison'. Did you mean 'Precision'"):
        make_metric(MetricConfig(class_name="Precison"))


def test_no_positive_label_makes_recall_undefined():
    assert math.isnan(value("Recall", labels=np.zeros(500)))
    assert value("FalsePositives", labels=np.zeros(500)) > 0


def test_no_prediction_is_right_about_a_label_out_of_range(capsys):
    dollars = np.where(LABELS, 4.06, 0)
    found = value("BinaryAccuracy", labels=dollars)
    assert found == pytest.approx(value("TrueNegatives") / value("ExampleCount"))
    assert capsys.readouterr().out.count("labels from 0 to 1, and one is 4.06") == 1


def test_labels_out_of_range_are_told():
    with pytest.raises(BadData, match="takes labels from 0 to 1, and one is 7"):
        value("AUC", labels=np.where(LABELS, 7, 0))
