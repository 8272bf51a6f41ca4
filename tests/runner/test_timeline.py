# SPDX-License-Identifier: Apache-2.0
import io
import subprocess
import sys
import time

import pytest

from stoker.runner.console import Console
from stoker.runner.timeline import Timeline, find_age


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def test_what_a_step_does_is_added_up_by_kind():
    clock = Clock()
    console = Console(io.StringIO(), io.StringIO(), clock=clock)
    console.timeline = timeline = Timeline(clock)
    with console.show_step("Trainer"):
        watcher = console.watch("Trainer")
        for doing, seconds in [
            (None, 1),
            ("importing TensorFlow", 2),
            ("", 3),
            ("running run_fn", 4),
            ("importing TensorFlow", 5),
            ("checking the model", 6),
            ("publishing its outputs", 7),
        ]:
            if doing is not None:
                watcher.event({"kind": "progress", "doing": doing})
            clock.now += seconds
        usage = {"kind": "usage", "cpu_seconds": 2.5, "server": 7, "import_cpu_seconds": 1.5}
        watcher.event(usage)
        watcher.event({**usage, "cpu_seconds": 0.5})
    title, _, row, rest, whole = timeline.describe(0.5, 30.0, 6.0)
    assert row.split() == [
        "Trainer",
        "0.00",
        "1.00",
        "7.00",
        "7.00",
        "6.00",
        "7.00",
        "28.00",
        "3.00",
    ]
    assert "Before the first step: 0.50 s" in rest
    assert "workers: 1.50 CPU s" in rest
    assert "the rest: 1.50 CPU s" in rest
    assert whole == "All of it: 30.00 s, and 6.00 CPU s of all processes."
    assert title == "Where the seconds went:"


def test_a_run_that_began_no_step_has_nothing_to_tell():
    assert Timeline().describe(0.1, 1.0, 1.0) == []


def test_the_age_of_a_program_is_known():
    code = "import time; time.sleep(0.2); from stoker.runner.timeline import *; print(find_age())"
    began = time.monotonic()
    age = float(subprocess.check_output([sys.executable, "-c", code], text=True))
    assert 0.2 <= age <= time.monotonic() - began + 0.02
    assert find_age() > 0


PIPELINE = """
from tfx import v1 as tfx

@tfx.dsl.components.component
def work():
    sum(range(3_000_000))

pipeline = tfx.dsl.Pipeline("timed", "root", components=[work()])
if __name__ == "__main__":
    tfx.orchestration.LocalDagRunner().run(pipeline)
"""


@pytest.mark.slow
def test_stoker_run_tells_at_its_end_where_the_time_went(tmp_path):
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    done = subprocess.run(
        [sys.executable, "-m", "stoker", "run", "--profile", "pipeline.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    _, _, table = done.stderr.partition("Where the seconds went:\n")
    head, row, _, whole = table.splitlines()
    assert head.split()[:3] == ["STEP", "AT", "INPUTS"]
    assert row.startswith("work ")
    assert whole.endswith("CPU s of all processes.")
