# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
from pathlib import Path

import pytest
import tfma_overlay
from components.evaluated_models import labelled_examples, save_classifier, save_opposite

from stoker.examples.tfrecord import write_records

pytestmark = [pytest.mark.tf, pytest.mark.slow]

BINARY = [
    *("ExampleCount", "WeightedExampleCount", "BinaryAccuracy", "AUC", "AUCPrecisionRecall"),
    *("Precision", "Recall", "Specificity", "F1Score", "TruePositives", "TrueNegatives"),
    *("FalsePositives", "FalseNegatives", "BalancedAccuracy", "BinaryCrossentropy", "Accuracy"),
    *("MeanSquaredError", "RootMeanSquaredError", "MeanAbsoluteError", "MeanLabel"),
    *("MeanSquaredLogarithmicError", "MeanPrediction", "Calibration", "SquaredPearsonCorrelation"),
]
CLASSES = ["SparseCategoricalAccuracy", "SparseCategoricalCrossentropy"]
SLICES = [
    {},
    {"feature_keys": ["color"]},
    {"feature_keys": ["color", "size"]},
    {"feature_values": {"size": "1"}},
    {"feature_keys": ["tags"], "feature_values": {"color": "red"}},
]


@pytest.fixture(scope="module")
def python():
    try:
        return tfma_overlay.python()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"The environment with TFMA cannot be made here: {error}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("both")
    save_classifier(folder / "model")
    save_opposite(folder / "baseline")
    write_records(str(folder / "data.gz"), labelled_examples(400))
    return folder


def both(python, folder, config):
    script = Path(__file__).with_name("both_engines.py")
    environ = {**os.environ, "PYTHONPATH": str(tfma_overlay.REPOSITORY / "src")}
    command = [python, str(script), str(folder), json.dumps(config)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def check_the_same(found, *, num_metrics):
    assert (found["other_slices"], found["other_metrics"]) == ([], [])
    assert len(found["largest"]) == num_metrics
    assert {name: gap for name, gap in found["largest"].items() if gap > 1e-6} == {}
    assert found["ok"][0] == found["ok"][1] == found["read_ok"]
    assert found["failed"][0] == found["failed"][1]
    assert found["details"][0] == found["details"][1]
    assert found["read_slices"] == found["slices"]


def test_both_say_the_same_of_two_classes_weighted_by_slice_and_against_a_baseline(python, folder):
    limited = {
        "class_name": "BinaryAccuracy",
        "threshold": {
            "value_threshold": {"lower_bound": 0.75},
            "change_threshold": {"absolute": 0.2, "direction": "HIGHER_IS_BETTER"},
        },
    }
    others = [{"class_name": name} for name in BINARY if name != "BinaryAccuracy"]
    found = both(
        python,
        folder,
        {
            "has_baseline": True,
            "model_specs": [{"label_key": "label", "example_weight_key": "weight"}],
            "slicing_specs": SLICES,
            "metrics_specs": [{"metrics": [limited, *others]}],
        },
    )

    check_the_same(found, num_metrics=len(BINARY))
    assert found["failed"][0] > 1


def test_both_say_the_same_of_several_classes_without_weights(python, folder):
    found = both(
        python,
        folder,
        {
            "model_specs": [{"label_key": "class", "signature_name": "classes"}],
            "slicing_specs": SLICES,
            "metrics_specs": [
                {
                    "metrics": [
                        {
                            "class_name": "ExampleCount",
                            "threshold": {"value_threshold": {"lower_bound": 50}},
                        },
                        *({"class_name": name} for name in CLASSES),
                    ]
                }
            ],
        },
    )

    check_the_same(found, num_metrics=1 + len(CLASSES))
