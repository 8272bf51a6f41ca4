# SPDX-License-Identifier: Apache-2.0
"""Three models in every format, each run by its own runtime beside the original."""

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rewritten_models import train_digits

from stoker.models.rewriting.targets import TARGETS, rewrite
from stoker.models.rewriting.tflite_rewriter import METADATA, LiteRT

pytestmark = [pytest.mark.tf, pytest.mark.slow]

EXAMPLES = Path(__file__).parents[3] / "examples"
# TFJS has a converter in an environment of its own.
HERE = [name for name in TARGETS if name != "tfjs"]
TO_ALL_HERE = [
    *("--to", "tflite", "--to", "onnx"),
    *(word for one in ("float32", "dynamic", "float16", "int8") for word in ("--quantize", one)),
]


def run(*command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


FLAGS = {"penguin": [], "taxi": ["--rows", "4000", "--steps", "100"]}


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """Trains the penguin or the taxi model by its pipeline: the root, and the model."""

    @functools.cache
    def train(name):
        root = str(tmp_path_factory.mktemp(name))
        run(str(EXAMPLES / name / "pipeline.py"), f"--root={root}", *FLAGS[name])
        (model,) = Path(root, "Trainer", "model").iterdir()
        return root, str(model)

    return train


def rewrite_by_command(root, model, *targets):
    return json.loads(run("-m", "stoker", "rewrite", model, "--root", root, "--json", *targets))


@pytest.fixture(scope="module")
def rewrite_all(train):
    """Rewrites a model by a command to all that this environment can make."""
    return functools.cache(lambda name: rewrite_by_command(*train(name), *TO_ALL_HERE))


@pytest.fixture(scope="module")
def saved_digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    return folder, *train_digits(str(folder))


@pytest.fixture(scope="module")
def digits(saved_digits):
    """The digits in every format of TFLite and in ONNX: name to folder and report."""
    folder, saved, examples = saved_digits
    return {
        name: (str(folder / name), rewrite(saved, name, str(folder / name), examples=[examples]))
        for name in HERE
    }


def check_report(report, compared_on):
    assert int(report["compared_on"].removesuffix(" eval examples")) >= compared_on
    assert report["largest_difference"] <= report["tolerance"]
    assert report["runtime"]
    assert report["rewritten_ms"] > 0
    assert report["cut"]
    assert report["rewritten_bytes"] < report["original_bytes"]


@pytest.mark.parametrize("target", [one for one in HERE if one != "tflite_int8_io"])
@pytest.mark.parametrize(
    ("name", "compared_on"),
    [("taxi", 500), pytest.param("penguin", 100, marks=pytest.mark.envs)],
)
def test_a_model_on_examples_answers_alike_in_every_format(rewrite_all, name, compared_on, target):
    check_report(rewrite_all(name)[target]["report"], compared_on)


@pytest.mark.envs
@pytest.mark.skipif(not shutil.which("node"), reason="there is no Node to run the result with")
def test_every_model_answers_alike_in_tfjs(train, saved_digits):
    for name, compared_on in (("penguin", 100), ("taxi", 500)):
        found = rewrite_by_command(*train(name), "--to", "tfjs")
        check_report(found["tfjs"]["report"], compared_on)
    folder, saved, examples = saved_digits
    report = rewrite(saved, "tfjs", str(folder / "tfjs"), examples=[examples])
    assert report.largest_difference <= report.tolerance


def read_metadata(path):
    from tensorflow.lite.tools import flatbuffer_utils

    model = flatbuffer_utils.read_model(path)
    (entry,) = [one for one in model.metadata if one.name.decode() == METADATA]
    return json.loads(bytes(model.buffers[entry.buffer].data))


def test_the_file_itself_says_what_it_takes(rewrite_all):
    path = os.path.join(rewrite_all("taxi")["tflite"]["path"], "model.tflite")

    inputs = read_metadata(path)["inputs"]

    assert inputs["trip_km"]["meaning"] == "the feature 'trip_km'; 0.0 where it is missing"
    assert "LookupTableFindV2" in inputs["payment"]["meaning"]
    assert set(LiteRT(path, "serving_default").inputs) == set(inputs)
    assert len(os.listdir(os.path.join(os.path.dirname(path), "assets"))) >= 2


@pytest.mark.parametrize("target", HERE)
def test_an_image_model_answers_alike_in_every_format(digits, target):
    _, report = digits[target]

    assert report.compared_on == "500 eval examples"
    if report.runtime:
        assert report.largest_difference <= report.tolerance
    assert not report.cut


def test_full_integer_has_integers_at_both_ends_when_asked(digits):
    model = LiteRT(os.path.join(digits["tflite_int8_io"][0], "model.tflite"), "serving_default")

    assert model.inputs["image"]["dtype"] is np.int8
    assert model.outputs["probabilities"]["dtype"] is np.int8


def test_full_integer_is_three_times_smaller(digits):
    sizes = {
        name: os.path.getsize(os.path.join(digits[name][0], "model.tflite"))
        for name in ("tflite", "tflite_int8", "tflite_int8_io")
    }

    assert sizes["tflite"] > 3 * sizes["tflite_int8"]
    assert sizes["tflite"] > 3 * sizes["tflite_int8_io"]
