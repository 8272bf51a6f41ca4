# SPDX-License-Identifier: Apache-2.0
"""A program whose run fails or is stopped ends with the answer, in both ways of starting it."""

import os
import signal
import subprocess
import sys

import pytest

from stoker.any_python.failures import WHOLE_TRACEBACK
from stoker.runner.endings import find_point, find_users_line, fold_frames

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
def Crash() -> OutputDict(number=int):
    import ctypes
    ctypes.string_at(0)

@component
def Debug() -> OutputDict(number=int):
    breakpoint()
    return {"number": 1}

@component
def Wait() -> OutputDict(number=int):
    print("waits", flush=True)
    time.sleep(60)

steps = {"look": Look(key="agee"), "wait": Wait(), "crash": Crash(), "debug": Debug()}
steps = [steps[sys.argv[-1]]]
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
    done = subprocess.run([*command, "look"], cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 1
    assert 'program.py", line 9, in Look' in done.stderr
    shown, _, ending = done.stderr.partition("stoker: ")
    assert "stoker" not in shown
    first, hint, line, log, advice = ending.splitlines()
    assert first == "Look failed: KeyError: 'agee'"
    assert hint == "Did you mean 'age'?"
    assert line == 'program.py, line 9: return {"number": row[key]}'
    assert "KeyError: 'agee'" in (tmp_path / log.removeprefix("Log: ")).read_text()
    assert advice.startswith("Correct it and run the same command again.")


def test_a_step_that_is_killed_leaves_its_stack(command, tmp_path):
    done = subprocess.run([*command, "crash"], cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 1
    shown, _, ending = done.stderr.partition("stoker: ")
    assert 'program.py", line 14, in Crash\n    ctypes.string_at(0)' in shown
    assert "stoker" not in shown
    first, line, log, _ = ending.splitlines()
    assert first == "Crash failed: WorkerLost: The worker process was killed by SIGSEGV."
    assert line == "program.py, line 14: ctypes.string_at(0)"
    assert "Fatal Python error" in (tmp_path / log.removeprefix("Log: ")).read_text()


def test_a_breakpoint_says_how_to_debug_and_that_way_works(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    words = [*WAYS["stoker run"], "debug"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "stoker run --debug FILE" in done.stderr

    words.insert(4, "--debug")
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, input="p 6 * 7\nc\n")
    assert done.returncode == 0, done.stderr
    assert "(Pdb) 42" in done.stdout


def test_all_frames_are_there_for_those_who_ask(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    environ = {**os.environ, WHOLE_TRACEBACK: "1"}
    command = [*WAYS["python"], "look"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environ)
    assert "local_dag_runner.py" in done.stderr


def test_a_stop_says_how_to_go_on(command, tmp_path):
    with subprocess.Popen(
        [*command, "wait"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout
        assert "waits" in next(program.stdout)
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=30)

    assert err.endswith("stoker: Stopped in Wait. Run the same command to go on.\n")
    assert program.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in err


def test_many_frames_of_packages_are_one_line():
    frames = "".join(
        f'  File "{path}.py", line {line}, in call\n    return f()\n    ^^^^\n'
        for line, path in enumerate(
            [
                "/x/site-packages/keras/a",
                "/x/site-packages/keras/b",
                "/tmp/__autograph_generated_filek5w",
            ]
        )
    )
    own = '  File "/home/me/module.py", line 3, in run_fn\n    model.fit(data)\n'
    text = f"Traceback (most recent call last):\n{own}{frames}ValueError: shapes\n  are different\n"
    assert fold_frames(text) == (
        f"Traceback (most recent call last):\n{own}  … 3 frames in keras, tensorflow\n"
        "ValueError: shapes\n  are different\n"
    )
    assert fold_frames(own) == own


@pytest.mark.parametrize(
    ("message", "point"),
    [
        ("plain\nand more", "plain"),
        (
            "Exception encountered when calling Functional.call().\n\nInput 0 is bad\n\nArguments",
            "Input 0 is bad",
        ),
        (
            'in user code:\n\n    File "m.py", line 3, in f *\n      x\n\n    ValueError: no x\n',
            "no x",
        ),
        (
            "in user code:\n\n    File x\n\n    TypeError: Exception encountered when calling layer"
            " 'a'.\n    \n    Failed to convert a SparseTensor\n    \n    Call arguments",
            "Failed to convert a SparseTensor",
        ),
        (
            "Graph execution error:\n\nDetected at node P defined at (most recent call last):\n"
            "<stack traces unavailable>\nFeature: a is required\n\t [[{{node P}}]] [Op:__inf]",
            "Feature: a is required",
        ),
        ("{{function_node __wrapped__P}} Feature: a is required", "Feature: a is required"),
        (
            "Error in user-defined function passed to MapDataset:2 transformation with iterator: "
            "Iterator::Root::Map: Feature: a is required",
            "Feature: a is required",
        ),
    ],
)
def test_the_point_of_a_message_is_what_is_wrong(message, point):
    assert find_point(message) == point


def test_the_users_line_is_the_last_that_is_in_no_package():
    text = (
        'Traceback\n  File "/home/me/module.py", line 3, in run_fn\n    model.fit(data)\n'
        '  File "/x/site-packages/keras/a.py", line 9, in call\n    return f()\n'
        '  File "/home/me/out/__autograph_generated_filek5.py", line 18, in tf__f\n    raise\n'
        "ValueError: no\n"
    )
    assert find_users_line(text) == "/home/me/module.py, line 3: model.fit(data)"
    assert find_users_line("") == ""
