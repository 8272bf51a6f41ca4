# SPDX-License-Identifier: Apache-2.0
"""Every step may be started again after a failure, and ended when it takes too long."""

import os
import time
from pathlib import Path

import pytest

from stoker.dsl import OutputDict, Parameter, Pipeline, component
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner
from stoker.stand_ins.tfx.pipeline_options import NodeExecutionOptions

pytestmark = pytest.mark.slow  # they wait


@component
def fail_twice(notes: Parameter[str]) -> OutputDict(attempt=int):
    attempt = len(list(Path(notes).iterdir())) + 1
    Path(notes, str(attempt)).touch()
    if attempt < 3:
        raise ConnectionError("the server is busy")
    return {"attempt": attempt}


@component
def hang(notes: Parameter[str]) -> OutputDict(attempt=int):
    import subprocess

    child = subprocess.Popen(["sleep", "600"])
    attempt = len(list(Path(notes).iterdir())) + 1
    Path(notes, str(attempt)).write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)
    return {"attempt": attempt}


@pytest.fixture
def notes(tmp_path):
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


def run(step, launcher=None):
    pipeline = Pipeline("p", str(Path(step.exec_properties["notes"]).parent), components=[step])
    return LocalDagRunner(launcher).run(pipeline)


def is_alive(pid):
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_step_that_fails_is_started_again(notes, capfd):
    done = run(fail_twice(notes=str(notes)).with_retries(2))
    assert done.outputs["fail_twice"]["attempt"][0].read() == 3
    told = capfd.readouterr().err
    assert "attempt 1 failed: ConnectionError: the server is busy Starting again." in told
    assert "attempt 2 failed" in told


def test_what_fails_too_often_fails_the_run(notes):
    with pytest.raises(StepFailed, match=r"ConnectionError: the server is busy \(attempt 2\)"):
        run(fail_twice(notes=str(notes)).with_retries(1))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc")
def test_a_step_that_takes_too_long_is_ended_with_all_that_it_started(notes):
    for seconds in (2, 30):  # the second time only where the machine is too busy for the first
        with pytest.raises(StepFailed) as caught:
            run(hang(notes=str(notes)).with_timeout(seconds))
        if list(notes.iterdir()):
            break
    line, what_to_do, *_ = str(caught.value).splitlines()
    assert line == (
        "hang failed: TimeoutError: it took longer than its time limit, "
        f"{seconds} s, and was ended."
    )
    assert ".with_timeout(seconds)" in what_to_do
    pids = [pid for note in notes.iterdir() for pid in note.read_text().split()]
    assert len(pids) == 2
    assert [pid for pid in pids if is_alive(pid)] == []


def test_a_step_that_was_ended_counts_as_a_failure_that_is_worth_its_retries(notes):
    with pytest.raises(StepFailed, match=r"was ended. \(attempt 2\)"):
        run(hang(notes=str(notes)).with_timeout(0.3).with_retries(1))


def test_the_time_limit_of_tfx_is_heeded(notes):
    options = NodeExecutionOptions(execution_timeout_sec=1, max_execution_retries=0)
    with pytest.raises(StepFailed, match="time limit, 1 s"):
        run(hang(notes=str(notes)).with_node_execution_options(options))


def test_where_a_step_cannot_be_ended_the_run_says_so(notes, capfd):
    Path(notes, "1").touch()
    Path(notes, "2").touch()
    run(fail_twice(notes=str(notes)).with_retries(1).with_timeout(60), InProcess())
    told = capfd.readouterr().err
    assert "in this process, without its retries and time limit" in told


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "2", None])
def test_a_wrong_number_of_retries_is_refused(notes, wrong):
    with pytest.raises(ValueError, match=r"hang.with_retries\(…\) takes a whole number from 0 on"):
        hang(notes=str(notes)).with_retries(wrong)


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), True, "60", None])
def test_a_wrong_time_limit_is_refused(notes, wrong):
    with pytest.raises(ValueError, match=r"hang.with_timeout\(…\) takes a number of seconds"):
        hang(notes=str(notes)).with_timeout(wrong)
