# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from pathlib import Path

import measured_pipeline
import note_pipeline
import pytest

from stoker.artifacts import Schema
from stoker.components.importer import Importer
from stoker.dsl import Pipeline
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner

SCRIPT = Path(__file__).with_name("talking_pipeline.py")


def write_log(root, node, execution, text):
    """The log of a step; steps in this process leave none."""
    path = root / ".stoker" / "logs" / node / f"{execution}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_log_is_printed_as_it_is(stoker, root, run):
    write_log(root, "write", 1, "hello\nthere\n")
    assert stoker("logs", "write").out == "hello\nthere\n"


def test_a_run_is_named_by_the_beginning_of_its_id(stoker, root, run):
    note_pipeline.run_notes(root, text="other")
    write_log(root, "write", 1, "the first\n")
    write_log(root, "write", 3, "the second\n")
    assert stoker("logs", "write").out == "the second\n"
    assert stoker("logs", "write", "--run", run.id).out == "the first\n"


def test_of_a_cached_step_it_is_that_of_the_run_which_did_it(stoker, root, run):
    write_log(root, "write", 1, "hello\n")
    cached = note_pipeline.run_notes(root)
    result = stoker("logs", "write")
    assert result.out == "hello\n"
    assert f"write was cached in run {cached.id}. Its log is that of run {run.id}:" in result.err


def test_a_training_keeps_its_log_with_what_else_it_left(stoker, here):
    measured_pipeline.run_measured(here / "out")
    (here / "out" / "fit" / "model_run" / "1" / "log.txt").write_text("epoch 1\n")
    assert stoker("logs", "fit").out == "epoch 1\n"


def test_each_line_of_a_worker_group_says_whose_it_is(stoker, here):
    measured_pipeline.run_measured(here / "out")
    folder = here / "out" / "fit" / "model_run" / "1"
    (folder / "workers").mkdir()
    (folder / "log.txt").write_text("up\nfitted\n")
    (folder / "workers" / "chief-0.log").write_text("up\nfitted\n")
    (folder / "workers" / "worker-0.log").write_text("up too\nno end of line")
    assert stoker("logs", "fit").out.splitlines() == [
        "chief-0 | up",
        "chief-0 | fitted",
        "worker-0 | up too",
        "worker-0 | no end of line",
    ]


def test_a_secret_of_this_environment_is_masked(stoker, root, run, monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "abracadabra")
    write_log(root, "write", 1, "connecting with abracadabra\n")
    assert stoker("logs", "write").out == "connecting with ***\n"


def test_a_step_that_printed_nothing_says_so(stoker, root, run):
    write_log(root, "write", 1, "")
    assert stoker("logs", "write").err == "write has printed nothing.\n"


def test_an_unknown_step_is_told_the_nearest(stoker, run):
    result = stoker("logs", "wrte")
    assert result.code == 2
    assert "There is no run, artifact or step 'wrte'. Did you mean 'write'?" in result.err


def test_an_unknown_run_is_told_the_newest(stoker, run):
    result = stoker("logs", "write", "--run", "1999")
    assert result.code == 2
    assert f"There is no run '1999'. The newest are {run.id}." in result.err


def test_a_step_that_another_run_had_is_told_to_be_missing_in_this_one(stoker, root, run):
    with pytest.raises(StepFailed):
        note_pipeline.fail_notes(root)
    out = stoker("logs", "write", "--run", "last").out
    assert out.startswith("write has not run in run ")
    assert out.endswith("which is failed.\n")


def test_a_log_that_was_cleaned_is_told_to_be_gone(stoker, here):
    with pytest.raises(StepFailed):
        measured_pipeline.run_measured(here / "out", fails=True)
    stoker("clean")
    out = stoker("logs", "fit").out
    assert "fit, execution 1, has no log any more: out/fit/model_run/1/log.txt was removed" in out


def test_a_step_that_runs_no_code_has_no_log(stoker, here):
    (here / "data").mkdir()
    imported = Importer(source_uri=str(here / "data"), artifact_type=Schema)
    LocalDagRunner(InProcess()).run(Pipeline("p", str(here / "out"), components=[imported]))
    out = stoker("logs", "Importer").out
    assert out == "Importer, execution 1, has no log: steps of this kind run no code.\n"


@pytest.mark.slow
def test_a_running_step_is_followed_to_its_end(here):
    root, gate = here / "out", here / "gate"
    with subprocess.Popen([sys.executable, SCRIPT, root, gate]) as run:
        with follow(root) as following:
            assert following.stdout.readline() == "first\n"
            gate.touch()
            assert following.stdout.read() == "second\n"
        assert following.returncode == 0
        assert run.wait() == 0


@pytest.mark.slow
def test_following_ends_with_a_run_that_is_killed(here):
    root = here / "out"
    with subprocess.Popen([sys.executable, SCRIPT, root, here / "gate"]) as run:
        with follow(root) as following:
            assert following.stdout.readline() == "first\n"
            run.kill()
            assert following.stdout.read() == ""
            assert following.stderr.read() == "The run died before talk ended.\n"
        assert following.returncode == 0


def follow(root):
    while not list(root.glob(".stoker/logs/talk/*.txt")):
        pass
    return subprocess.Popen(
        [sys.executable, "-m", "stoker", "logs", "talk", "-f"],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
