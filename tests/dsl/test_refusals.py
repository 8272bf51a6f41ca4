# SPDX-License-Identifier: Apache-2.0
"""A program that declares what we refuse ends with its own line and our reason, and no frames."""

import os
import subprocess
import sys

import pytest

from stoker.any_python.failures import WHOLE_TRACEBACK

STEPS = """
from tfx import v1 as tfx
from tfx.dsl.components.base.executor_spec import ExecutorClassSpec

def make_steps(what):
    rows = tfx.components.CsvExampleGen(input_base="data")
    if what == "key":
        return tfx.components.StatisticsGen(examples=rows.outputs["rows"])
    if what == "argument":
        return tfx.components.StatisticsGen(rows=rows.outputs["examples"])
    if what == "cloud":
        from tfx.extensions.google_cloud_ai_platform.trainer import executor
        return ExecutorClassSpec(executor.GenericExecutor)
    if what == "channel":
        return tfx.dsl.Channel(type=int)
    if what == "function":
        return tfx.dsl.components.component(lambda rows: None)
    return tfx.dsl.Pipeline("p", "root", components=[rows, rows.with_id("a/b")])
"""
PROGRAM = """
import sys
from steps import make_steps
make_steps(sys.argv[-1])
"""
WAYS = {
    "python": [sys.executable, "program.py"],
    "stoker run": [sys.executable, "-m", "stoker", "run", "program.py"],
}
REFUSED = {
    "key": "stoker: steps.py:8: there is no 'rows' here; there is 'examples'.",
    "argument": "stoker: steps.py:10: StatisticsGen has no argument 'rows'.",
    "cloud": "stoker: steps.py:13: tfx.extensions.google_cloud_ai_platform.trainer.executor.",
    "channel": "stoker: steps.py:15: A Channel's type is an Artifact class, got <class 'int'>.",
    "function": "stoker: steps.py:17: ",
    "id": "stoker: steps.py:18: The id of a CsvExampleGen is the name of a file or folder: ",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "steps.py").write_text(STEPS)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", REFUSED)
def test_a_refused_declaration_is_one_line(folder, what, way):
    done = subprocess.run([*WAYS[way], what], cwd=folder, capture_output=True, text=True)

    assert done.returncode == 1
    assert done.stderr.startswith(REFUSED[what])
    assert len(done.stderr.splitlines()) == 1


def test_all_frames_are_there_for_those_who_ask(folder):
    environ = {**os.environ, WHOLE_TRACEBACK: "1"}
    command = [*WAYS["python"], "argument"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environ)
    assert "older_names.py" in done.stderr
