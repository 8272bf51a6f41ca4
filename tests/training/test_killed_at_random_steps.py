# SPDX-License-Identifier: Apache-2.0
"""A training with several steps per call that is killed at random steps ends bit-equal."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("killed_training.py")


@pytest.mark.tf
@pytest.mark.parametrize(
    "num_kills",
    [pytest.param(2, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.envs)],
)
@pytest.mark.parametrize("keras", [2, pytest.param(3, marks=pytest.mark.envs)])
def test_a_training_that_is_killed_at_random_steps_ends_bit_equal(tmp_path, keras, num_kills):
    seed = 5
    command = [sys.executable, "-W", "ignore", PROGRAM, keras, tmp_path / "out", num_kills, seed]
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out" / "found.json").read_text())
    assert sum(found["killed"]) >= num_kills - 1  # the last may come when all is done
    assert found["whole"]["most_per_call"] > 1
    assert found["resumed"]["notes"][0].startswith("resuming from step ")
    assert found["resumed"]["result"] == found["whole"]["result"]
