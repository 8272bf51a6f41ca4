# SPDX-License-Identifier: Apache-2.0
"""What a person sees of a whole run, on a real terminal and in a log, while nothing is done yet."""

import os
import pty
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PIPELINE = """
import time

from tfx import v1 as tfx

@tfx.dsl.components.component
def Sleeper(examples: tfx.dsl.components.InputArtifact[tfx.types.standard_artifacts.Examples]):
    time.sleep(2)
    print("slept well")

generated = tfx.components.CsvExampleGen(input_base="data")
slept = Sleeper(examples=generated.outputs["examples"])
pipeline = tfx.dsl.Pipeline("life", "root", components=[generated, slept])
if __name__ == "__main__":
    tfx.orchestration.LocalDagRunner().run(pipeline)
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text("x,y\n" + "1,2\n" * 200_000)
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    return tmp_path


def run_on_terminal(folder):
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm"}
    command = [sys.executable, "pipeline.py"]
    with subprocess.Popen(
        command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environ
    ) as process:
        os.close(theirs)
        shown = b""
        while part := read_some(ours):
            shown += part
    os.close(ours)
    assert process.returncode == 0, shown.decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


def read_some(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how Linux tells that the other side is closed
        return b""


def run_in_pipe(folder):
    done = subprocess.run(
        [sys.executable, "pipeline.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stderr.partition("[2/2]")[0] + done.stdout


def while_it_slept(shown):
    before, end, _ = shown.partition("slept well")
    assert end
    return before.partition("CsvExampleGen done")[2]


def test_a_terminal_shows_a_step_before_it_has_done_anything_and_is_left_as_it_was(project):
    shown = run_on_terminal(project)
    assert "Sleeper" in while_it_slept(shown)
    after = shown.rpartition("Sleeper done in")[2].replace("\r\n", "\n")
    assert "\r" not in after


def test_a_log_names_a_step_before_it_has_done_anything(project):
    assert "Sleeper" in while_it_slept(run_in_pipe(project))
