# SPDX-License-Identifier: Apache-2.0
"""A program whose run fails or is stopped ends with the answer, in both ways of starting it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from stoker.any_python.failures import WHOLE_TRACEBACK
from stoker.runner.endings import fold_frames

pytestmark = pytest.mark.slow

PROGRAM = """
import sys, time
from tfx import v1 as tfx
from tfx.v1.dsl.components import OutputDict, Parameter, component

@component
def Look(key: Parameter[str]) -> OutputDict(number=int):
    row = {"age": 1, "tips": 2}
    return {"number": row[key]}

@component
def Wait() -> OutputDict(number=int):
    print("waits", flush=True)
    time.sleep(60)

steps = [Wait()] if "wait" in sys.argv else [Look(key="agee")]
tfx.orchestration.LocalDagRunner().run(tfx.dsl.Pipeline("p", "root", components=steps))
"""
WAYS = {
    "python": [sys.executable, "program.py"],
    "stoker run": [sys.executable, "-m", "stoker", "run", "program.py"],
}


@pytest.fixture(params=WAYS)
def command(request, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return WAYS[request.param]


def test_a_failure_ends_with_the_users_line_and_the_name_that_was_meant(command, tmp_path):
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 1
    assert 'program.py", line 9, in Look' in done.stderr
    assert done.stderr.endswith("stoker: Look failed: KeyError: 'agee'\nDid you mean 'age'?\n")
    assert "local_dag_runner.py" not in done.stderr


def test_all_frames_are_there_for_those_who_ask(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    environ = {**os.environ, WHOLE_TRACEBACK: "1"}
    command = WAYS["python"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environ)
    assert "local_dag_runner.py" in done.stderr


def test_a_stop_says_how_to_go_on(command, tmp_path):
    words = [*command, *(["--"] if "run" in command else []), "wait"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout
        while "waits" not in program.stdout.readline():
            time.sleep(0.01)
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=30)

    assert err.endswith("stoker: Stopped in Wait. Run the same command to go on.\n")
    assert program.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in err


def test_many_frames_of_packages_are_one_line():
    frames = "".join(
        f'  File "/x/site-packages/{name}/a.py", line {line}, in call\n    return f()\n    ^^^^\n'
        for line, name in enumerate(["keras", "keras", "tensorflow"])
    )
    own = '  File "/home/me/module.py", line 3, in run_fn\n    model.fit(data)\n'
    text = f"Traceback (most recent call last):\n{own}{frames}ValueError: shapes\n  are different\n"
    assert fold_frames(text) == (
        f"Traceback (most recent call last):\n{own}  … 3 frames in keras, tensorflow\n"
        "ValueError: shapes\n  are different\n"
    )
    assert fold_frames(own) == own
