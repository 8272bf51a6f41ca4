# SPDX-License-Identifier: Apache-2.0
"""Runs whose steps come in any order, twice at once, and are killed: a few, and a hundred."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("num_trials", "more"),
    [
        pytest.param(3, [], id="a few"),
        pytest.param(100, [], marks=pytest.mark.envs, id="a hundred"),
        pytest.param(100, ["--machines=2"], marks=pytest.mark.envs, id="a hundred on two machines"),
    ],
)
def test_each_artifact_is_published_once(tmp_path, num_trials, more):
    program = Path(__file__).with_name("random_steps.py")
    words = [f"--trials={num_trials}", "--seed=20", f"--folder={tmp_path}", *more]
    command = [sys.executable, str(program), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=7200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "-9:" in done.stdout
