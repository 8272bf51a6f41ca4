# SPDX-License-Identifier: Apache-2.0
"""A pipeline file without `if __name__ == "__main__"` runs once, as one with it does."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HEAD = """
from tfx import v1 as tfx
from tfx.v1.dsl.components import OutputDict, Parameter, component
"""
COUNT = """
@component
def Count(start: Parameter[int]) -> OutputDict(number=int):
    from counted import STEP
    return {"number": start + STEP}
"""
RUN = """
pipeline = tfx.dsl.Pipeline("counting", "root", components=[Count(start=1)])
tfx.orchestration.LocalDagRunner().run(pipeline)
print("below the run")
"""


def run_program(folder: Path, *parts: str) -> subprocess.CompletedProcess[str]:
    (folder / "counted.py").write_text("STEP = 1")
    (folder / "pipeline.py").write_text("".join(parts))
    command = [sys.executable, "pipeline.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_a_step_is_defined_in_the_file_that_starts_the_run(tmp_path):
    done = run_program(tmp_path, HEAD, COUNT, RUN)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("below the run") == 1


def test_a_neighbour_that_starts_a_run_of_its_own_gives_what_is_above_it(tmp_path):
    (tmp_path / "other.py").write_text("".join([HEAD, "STEP = 2\n", COUNT, RUN]))
    done = run_program(tmp_path, HEAD, COUNT.replace("counted", "other"), RUN)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("below the run") == 1


def test_a_step_below_another_run_is_asked_to_move_up(tmp_path):
    later = "".join([COUNT, RUN]).replace("Count(", "Again(").replace("counting", "again")
    done = run_program(tmp_path, HEAD, COUNT, RUN, later)

    assert done.returncode != 0
    assert "above the line that starts the run" in done.stderr
