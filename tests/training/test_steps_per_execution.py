# SPDX-License-Identifier: Apache-2.0
"""Several steps per call into TensorFlow give what one step per call gives, bit by bit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stoker.training.executions import Pace
from stoker.views.progress_lines import list_rates

PROGRAM = Path(__file__).with_name("trained_at_once.py")


def test_steps_per_call_are_doubled_while_a_call_is_short():
    pace, tried = Pace(), []
    for _ in range(8):
        tried.append(pace.num_steps)
        pace.note(pace.num_steps, 0.0002 * pace.num_steps)
    assert tried == [1, 2, 4, 8, 16, 32, 64, 64]


def test_long_steps_are_done_one_by_one():
    pace = Pace()
    for _ in range(3):
        pace.note(pace.num_steps, 0.04 * pace.num_steps)
    assert pace.num_steps == 1


def test_a_call_that_took_long_is_followed_by_shorter_ones():
    pace = Pace()
    for _ in range(6):
        pace.note(pace.num_steps, 0.0001)
    pace.note(64, 0.64)
    assert pace.num_steps == 5


def test_a_number_that_was_asked_for_stays():
    pace = Pace(7)
    pace.note(7, 10.0)
    assert pace.num_steps == 7


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"steps_per_call": 64, "why_single": ""}, "64 steps per call"),
        ({"steps_per_call": 1, "why_single": "it runs eagerly"}, "1 step per call (it runs eager"),
    ],
)
def test_the_line_of_a_step_tells_how_many(record, words):
    assert list_rates(record)[-1].startswith(words)
    assert list_rates(record, brief=True) == []


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(2, id="keras 2"),
        pytest.param(3, marks=pytest.mark.envs, id="keras 3"),
    ],
)
def found(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"keras{request.param}")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), str(request.param), str(folder)],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "found.json").read_text())


@pytest.mark.tf
@pytest.mark.slow
@pytest.mark.parametrize(
    "way",
    [
        *("arrays", "unknown_length", "data_that_runs_out", "read_on", "own_step", "recurrent"),
        *("built_before", "callbacks_of_keras", "steps_by_division"),
    ],
)
def test_results_are_bit_equal(found, way):
    one, seven, free = (found[way][number] for number in ("1", "7", "None"))
    assert (one["steps_per_call"], one["why_single"]) == (1, "steps_per_execution=1")
    assert (seven["steps_per_call"], seven["why_single"]) == (7, "")
    assert free["why_single"] == ""
    assert one["result"] == seven["result"] == free["result"]
    assert one["step"] == seven["step"] == free["step"]
    assert one["texts"] == seven["texts"] == free["texts"]


@pytest.mark.tf
@pytest.mark.slow
def test_a_number_of_steps_that_is_no_whole_one_is_rounded_up_as_keras_2_does(found):
    assert {one["step"] for one in found["steps_by_division"].values()} == {2 * 26}


@pytest.mark.tf
@pytest.mark.slow
def test_the_step_of_a_model_that_is_built_is_traced_once(found):
    num_traced = {number: one["num_traced"] for number, one in found["built_before"].items()}
    assert num_traced == {"1": 2, "7": 1, "None": 1}  # by Keras's own loop: twice


@pytest.mark.tf
@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("own_callback", "Sees looks at every batch"),
        ("noise_of_tensorflow", "its steps have the random numbers of tf.random in "),
        ("run_eagerly", "it runs eagerly"),
        ("chosen_by_the_module", "the module has chosen steps_per_execution"),
    ],
)
def test_what_could_tell_the_difference_trains_step_by_step_and_says_why(found, way, why):
    for number in ("7", "None"):
        assert found[way][number]["steps_per_call"] == 1
        assert found[way][number]["why_single"].startswith(why)
        assert found[way][number]["result"] == found[way]["1"]["result"]


@pytest.mark.tf
@pytest.mark.slow
def test_the_first_bad_loss_is_told_with_its_step(found):
    for number in ("1", "7", "None"):
        (text,) = found["bad_loss"][number]["texts"]
        assert "is NaN for the first time at step 17 (epoch 1, batch 17; " in text
