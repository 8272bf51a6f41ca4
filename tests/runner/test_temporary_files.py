# SPDX-License-Identifier: Apache-2.0
"""What a run leaves in the system's temporary folder: nothing, or nothing after the next one."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import os, sys, tempfile, time
from tfx import v1 as tfx
from tfx.v1.dsl.components import OutputDict, component

@component
def Leave() -> OutputDict(number=int):
    open(os.path.join(tempfile.mkdtemp(), "left"), "w").close()
    handle, _ = tempfile.mkstemp()
    if "fail" in sys.argv:
        raise ValueError("so it is")
    if "wait" in sys.argv:
        print("waits", flush=True)
        time.sleep(60)
    return {"number": 1}

pipeline = tfx.dsl.Pipeline("p", sys.argv[1], components=[Leave()])
tfx.orchestration.LocalDagRunner().run(pipeline)
"""


@pytest.fixture(params=["r", "r" * 120], ids=["short", "long"])
def root(request):
    """A root whose path is short, as pytest's are not, or too long for the names of sockets."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder, request.param)


@pytest.fixture
def temporary(root):
    (root.parent / "tmp").mkdir()
    return root.parent / "tmp"


def start(root, *words):
    program = root.parent / "program.py"
    program.write_text(PROGRAM)
    return subprocess.Popen(
        [sys.executable, str(program), str(root), *words],
        env={**os.environ, "TMPDIR": str(root.parent / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def stop(root, number):
    """Send a signal to a run that is in its step."""
    with start(root, "wait") as run:
        while "waits" not in run.stdout.readline():
            assert run.poll() is None
        run.send_signal(number)
        run.communicate()


@pytest.mark.parametrize(("words", "code"), [((), 0), (("fail",), 1)])
def test_a_run_that_ends_leaves_nothing(root, temporary, words, code):
    with start(root, *words) as run:
        said, _ = run.communicate()
    assert run.returncode == code, said
    assert os.listdir(temporary) == []


def test_a_run_that_is_interrupted_leaves_nothing(root, temporary):
    stop(root, signal.SIGINT)
    assert os.listdir(temporary) == []


def test_of_a_killed_run_the_next_one_leaves_nothing(root, temporary):
    stop(root, signal.SIGKILL)
    with start(root) as run:
        run.communicate()
    assert os.listdir(temporary) == []


def test_of_a_killed_run_whose_root_was_removed_another_one_leaves_nothing(root, temporary):
    stop(root, signal.SIGKILL)
    shutil.rmtree(root)
    with start(root.parent / "another") as run:
        run.communicate()
    assert os.listdir(temporary) == []
