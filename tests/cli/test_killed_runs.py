# SPDX-License-Identifier: Apache-2.0
"""What `stoker runs` says of a run that was killed: that it died, wherever it was."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import note_pipeline
import pytest

from stoker.dsl import Channel, Pipeline
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("killed_notes.py")


@contextlib.contextmanager
def stopped_at(root, moment):
    """A run that has come to a moment, and goes no further; it is killed in the end."""
    with subprocess.Popen([sys.executable, SCRIPT, root, moment]) as run:
        _, status = os.waitpid(run.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        try:
            yield
        finally:
            run.kill()


@pytest.mark.parametrize(
    ("moment", "steps"),
    [("prepare", "0 of 2"), ("launch", "1 of 2"), ("[1/2]", "1 of 2"), ("[2/2]", "2")],
)
def test_a_run_is_running_until_it_is_killed_and_died_then(stoker, root, moment, steps):
    with stopped_at(root, moment):
        (running,) = stoker("runs", "--json").record
    (died,) = stoker("runs", "--json").record
    assert (running["state"], died["state"]) == ("running", "died")
    (row,) = stoker("runs").out.splitlines()[1:]
    assert f"died   {steps} " in row


def test_the_step_that_it_was_at_died_with_it(stoker, root):
    with stopped_at(root, "launch"):
        assert stoker("show", "last", "--json").record["steps"][0]["state"] == "running"
    assert stoker("show", "last", "--json").record["steps"][0]["state"] == "died"
    assert stoker("explain", "write").out.startswith("write (died")


def test_the_next_run_does_not_change_what_is_said_of_it(stoker, root):
    with stopped_at(root, "launch"):
        pass
    note_pipeline.run_notes(root)
    states = [run["state"] for run in stoker("runs", "--json").record]
    assert states == ["complete", "died"]


def test_a_run_that_could_not_begin_a_step_failed(stoker, root):
    counting = note_pipeline.count(note=Channel(note_pipeline.Note))
    with pytest.raises(StepFailed, match="there is none"):
        LocalDagRunner(InProcess()).run(Pipeline("notes", str(root), components=[counting]))
    (run,) = stoker("runs", "--json").record
    assert (run["state"], run["steps"]) == ("failed", 0)
