"""Code that is edited between runs, or while a step runs: what it made is reused only if it may."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PIPELINE = """
from pathlib import Path
import neighbour
from stoker.artifacts import Model
from stoker.dsl import OutputArtifact, Pipeline, component
from stoker.runner import LocalDagRunner

@component
def step(model: OutputArtifact[Model]):
    Path(model.uri, "value").write_text(str(neighbour.VALUE))

if __name__ == "__main__":
    LocalDagRunner().run(Pipeline("edited", "root", components=[step()], enable_cache=True))
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "neighbour.py").write_text("VALUE = 1\n")
    return tmp_path


def run(project: Path) -> str:
    """Run the pipeline file, as a user does; what it printed."""
    done = subprocess.run(
        [sys.executable, "pipeline.py"], cwd=project, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def values_written(project: Path) -> list[str]:
    """What each execution of the step has written, the first one first."""
    files = (project / "root" / "step" / "model").glob("*/value")
    return [file.read_text() for file in sorted(files, key=lambda file: int(file.parent.name))]


def test_an_edit_behind_the_back_of_size_and_time_is_seen_and_the_new_code_runs(project):
    neighbour = project / "neighbour.py"
    run(project)
    run(project)
    assert values_written(project) == ["1"]
    before = neighbour.stat()
    neighbour.write_text("VALUE = 2\n")
    os.utime(neighbour, ns=(before.st_atime_ns, before.st_mtime_ns))
    run(project)
    assert values_written(project) == ["1", "2"]
