# SPDX-License-Identifier: Apache-2.0
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import measured_pipeline
import pytest


@contextlib.contextmanager
def tensorboard(*words, cwd):
    """`stoker tensorboard` while it runs: the command, and where it listens."""
    command = [sys.executable, "-m", "stoker", "tensorboard", "--port", "0", *words]
    with subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            for line in process.stderr:
                if found := re.search(r"at (http://127\.0\.0\.1:\d+/)", line):
                    yield process, found[1]
                    break
            else:
                pytest.fail("TensorBoard did not say where it is.")
        finally:
            process.terminate()
            process.stderr.close()


def list_curves(address, num_curves):
    """The names of the curves, as soon as there are so many."""
    for _ in range(300):
        with urllib.request.urlopen(address + "data/runs") as answer:
            found = json.load(answer)
        if len(found) >= num_curves:
            return found
        time.sleep(0.2)
    return found


def name_of(run, execution, *, others):
    name = "fit " + run.id.replace("T", " ").partition(".")[0]
    same_second = any(other.id[:19] == run.id[:19] for other in others)
    return f"{name} ({execution})" if same_second else name


@pytest.mark.slow
def test_curves_are_named_for_their_step_and_the_beginning_of_their_run(here):
    first = measured_pipeline.run_measured(here / "out", loss=1.0)
    second = measured_pipeline.run_measured(here / "out", loss=2.0)
    measured_pipeline.run_measured(here / "out", loss=2.0)  # cached: the same curves
    with tensorboard("fit", cwd=here) as (process, address):
        names = [name_of(first, 1, others=[second]), name_of(second, 3, others=[first])]
        series = ("train", "train_epochs", "validation")
        assert list_curves(address, 6) == [f"{name}/{one}" for name in names for one in series]
        children = subprocess.run(
            ["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True
        ).stdout.split()
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert children
    assert not [child for child in children if os.path.exists(f"/proc/{child}/fd")]


def test_where_no_training_was_it_says_what_is_missing(stoker, run):
    result = stoker("tensorboard")
    assert result.code == 1
    assert "No training of the newest 5 runs has left metrics." in result.err


def test_an_unknown_name_is_told_the_nearest(stoker, run):
    result = stoker("tensorboard", "wrte")
    assert result.code == 2
    assert "Did you mean 'write'?" in result.err
