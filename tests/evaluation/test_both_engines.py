# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
from pathlib import Path

import pytest
import tfma_overlay
from components.evaluated_models import labelled_examples, save_classifier, save_opposite

from stoker.data.tfrecord import write_records
from stoker.evaluation.metrics import METRICS

pytestmark = [pytest.mark.tf, pytest.mark.slow, pytest.mark.envs]

BY_COLOR = [{}, {"feature_keys": ["color"]}]
CROSSED = [
    *BY_COLOR,
    {"feature_keys": ["color", "size"]},
    {"feature_values": {"size": "1"}},
    {"feature_keys": ["tags"], "feature_values": {"color": "red"}},
]
OF_ERRORS = [
    *("MeanSquaredError", "RootMeanSquaredError", "MeanAbsoluteError", "MeanLabel"),
    *("MeanAbsolutePercentageError", "MeanSquaredLogarithmicError", "MeanPrediction"),
    *("Calibration", "SquaredPearsonCorrelation"),
]
OF_TWO_CLASSES = [
    name for name in METRICS if "Categorical" not in name and "Percentage" not in name
]


def case(label, *metrics, slices=BY_COLOR, has_baseline=False, weights=None, **model):
    return {
        "has_baseline": has_baseline,
        "model_specs": [{"label_key": label, **model}],
        "slicing_specs": slices,
        "metrics_specs": [
            {
                "metrics": [{"class_name": m} if isinstance(m, str) else m for m in metrics],
                **({"example_weights": weights} if weights else {}),
            }
        ],
    }


def metric(class_name, name, **settings):
    return {"class_name": class_name, "config": json.dumps({"name": name, **settings})}


def change(limit, direction, kind="absolute"):
    return {"change_threshold": {kind: limit, "direction": direction}}


CLASSES = {"signature_name": "classes", "prediction_key": "probabilities"}
CASES = {
    "the best classes of several": case(
        "class", metric("Precision", "best", top_k=1), metric("Recall", "two", top_k=2), **CLASSES
    ),
    "two classes, weighted, crossed slices, against a baseline": case(
        "label",
        *(name for name in OF_TWO_CLASSES if name not in ("BinaryAccuracy", "AUC", "Recall")),
        {
            "class_name": "BinaryAccuracy",
            "threshold": {
                "value_threshold": {"lower_bound": 0.75, "upper_bound": 0.9},
                **change(0.2, "HIGHER_IS_BETTER"),
            },
        },
        {"class_name": "AUC", "threshold": change(-0.05, "LOWER_IS_BETTER", "relative")},
        {
            "class_name": "Recall",
            "per_slice_thresholds": [
                {
                    "slicing_specs": [
                        {"feature_keys": ["color"]},
                        {"feature_values": {"size": "1"}},
                        {"feature_values": {"size": "7"}},
                    ],
                    "threshold": {"value_threshold": {"lower_bound": 0.9}},
                }
            ],
        },
        slices=CROSSED,
        has_baseline=True,
        example_weight_key="weight",
    ),
    "two classes, settings, weighted and not": case(
        "label",
        metric("Precision", "high", thresholds=[0.9]),
        metric("BinaryAccuracy", "low", threshold=0.3),
        metric("AUC", "coarse", num_thresholds=200),
        metric("AUC", "below", curve="PR", summation_method="minoring"),
        metric("AUC", "above", summation_method="majoring"),
        metric("BinaryCrossentropy", "smooth", label_smoothing=0.2),
        weights={"weighted": True, "unweighted": True},
        example_weight_key="weight",
    ),
    "amounts": case("amount", *OF_ERRORS, example_weight_key="weight"),
    "one of several classes, by its number": case(
        "class",
        *("SparseCategoricalAccuracy", "SparseCategoricalCrossentropy", "Precision", "AUC"),
        *("BinaryAccuracy", "MeanSquaredError", "Calibration"),
        {"class_name": "ExampleCount", "threshold": {"value_threshold": {"lower_bound": 70}}},
        **CLASSES,
    ),
    "one of several classes, by its name": case(
        "color",
        *("SparseCategoricalAccuracy", "SparseCategoricalCrossentropy", "AUC"),
        signature_name="colors",
        slices=[{}, {"feature_keys": ["size"]}],
    ),
    "one of several classes, by its place": case(
        "one_hot",
        *("CategoricalAccuracy", "CategoricalCrossentropy"),
        metric("CategoricalCrossentropy", "of_logits", from_logits=True),
        **{**CLASSES, "prediction_key": "logits"},
    ),
    "several classes at once": case(
        "several",
        *("BinaryCrossentropy", "Accuracy", "AUC", "Precision", "Recall", "MeanLabel"),
        metric("BinaryCrossentropy", "of_logits", from_logits=True),
        **{**CLASSES, "prediction_key": "several"},
        example_weight_key="weight",
    ),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What both engines say in every case, computed in one process."""
    try:
        python = tfma_overlay.python()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"The environment with TFMA cannot be made here: {error}")
    folder = tmp_path_factory.mktemp("both")
    save_classifier(folder / "model")
    save_opposite(folder / "baseline")
    write_records(str(folder / "data.gz"), labelled_examples(200))
    (folder / "cases.json").write_text(json.dumps(CASES))
    script = Path(__file__).with_name("both_engines.py")
    environ = {**os.environ, "PYTHONPATH": str(tfma_overlay.REPOSITORY / "src")}
    command = [python, str(script), str(folder)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", CASES)
def test_both_engines_say_the_same(found, name):
    of_case, num_metrics = found[name], len(CASES[name]["metrics_specs"][0]["metrics"])
    assert (of_case["other_slices"], of_case["other_metrics"]) == ([], [])
    assert len(of_case["largest"]) == num_metrics
    assert {metric: gap for metric, gap in of_case["largest"].items() if gap > 1e-6} == {}
    assert of_case["verdicts"][0] == of_case["verdicts"][1]
    assert of_case["read_ok"] == of_case["verdicts"][0]["ok"]
    assert of_case["read_slices"] == of_case["slices"] > 1


def test_every_metric_that_stoker_computes_is_compared(found):
    compared = {one["class_name"] for case in CASES.values() for one in metrics_of(case)}
    assert compared == set(METRICS)
    refused = found["two classes, weighted, crossed slices, against a baseline"]["verdicts"][0]
    assert {name for _, name, _ in refused["failures"]} == {"binary_accuracy", "auc", "recall"}
    assert refused["missing_slices"] == 1


def metrics_of(case):
    return case["metrics_specs"][0]["metrics"]
