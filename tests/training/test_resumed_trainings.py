# SPDX-License-Identifier: Apache-2.0
"""Real trainings of both Keras that crash and go on, in one process each."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("resumed_training.py")
LEFT = "(checkpoint of "


@pytest.fixture(scope="module", params=[2, 3], ids=["keras 2", "keras 3"])
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


@pytest.mark.parametrize(
    ("way", "step"),
    [
        ("several_steps_at_once", 18),  # its callbacks see every third step
        ("unusual_optimizer", 6),
        ("two_devices", 6),
        ("loop", 6),
        ("callbacks_with_state", 6),
        ("variables_outside", 6),
    ],
)
def test_what_goes_on_ends_bit_equal(found, way, step):
    told = found[way]
    assert told["crashed"]["result"] is None
    assert told["crashed"]["notes"] == []
    (note,) = told["resumed"]["notes"]
    assert note.startswith(f"resuming from step {step} {LEFT}")
    assert ";" not in note  # nothing that it could not restore
    assert told["resumed"]["result"] == told["whole"]["result"]


@pytest.mark.parametrize("way", ["several_steps_at_once", "callbacks_with_state", "loop"])
def test_the_curve_of_what_goes_on_has_the_part_before(found, way):
    crashed, resumed, whole = (
        found[way][attempt]["curves"] for attempt in ("crashed", "resumed", "whole")
    )
    steps = [step for step, _ in resumed["train"]]
    assert steps == sorted(set(steps))
    assert [point for point in crashed["train"] if point[0] <= 6] == [
        point for point in resumed["train"] if point[0] <= 6
    ]
    assert steps[0] <= 3
    assert steps[-1] > 6
    assert resumed.get("train_epochs") == whole.get("train_epochs")


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("shuffled_by_the_module", "its input goes through Shuffle"),
        ("arrays", "its input is not from fn_args.data_accessor"),
    ],
)
def test_data_that_cannot_be_followed_starts_again_and_says_so(found, way, why):
    (note,) = found[way]["resumed"]["notes"]
    assert note.startswith(f"resuming from step 6 {LEFT}")
    assert note.endswith(f"; {why}, and starts again")
    assert found[way]["resumed"]["result"] == 24  # as many steps as without the crash


def test_shuffles_without_a_seed_are_those_of_the_first_attempt(found):
    told = found["drawn_seed"]
    assert told["resumed"]["result"] == told["later"]["result"]


def test_what_cannot_be_restored_is_named_in_the_line_that_resumes(found):
    (note,) = found["what_nobody_can_read"]["resumed"]["notes"]
    assert "; not restored: Counts.numbers (generator), " in note
    assert "the random numbers of tf.random in " in note
    assert "noisy" in note


def test_steps_that_nobody_can_look_into_are_named(found):
    told = found["steps_that_run_eagerly"]["resumed"]
    (note,) = told["notes"]
    assert note.endswith(
        "; not restored: what its steps, which run eagerly, keep outside of the model"
    )
    assert told["result"] == found["steps_that_run_eagerly"]["whole"]["result"]


def test_a_checkpoint_that_cannot_be_written_is_told_once_and_training_goes_on(found):
    told = found["full_disk"]
    for attempt in ("whole", "crashed", "resumed"):
        assert sum("could not be written" in note for note in told[attempt]["notes"]) == 1
    assert told["whole"]["result"] == told["resumed"]["result"]
    assert any(note.startswith("resuming from step 2 ") for note in told["resumed"]["notes"])
