# SPDX-License-Identifier: Apache-2.0
"""`stoker run --on ray`: a Ray of its own comes with the run, and goes with it."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

PIPELINE = """
import os, sys, time
from pathlib import Path
from tfx import v1 as tfx
from tfx.v1.dsl.components import OutputArtifact, Parameter, component

Model = tfx.types.standard_artifacts.Model

@component
def write(model: OutputArtifact[Model], seconds: Parameter[float]):
    started = Path(model.uri, "started")
    started.write_text(f"{os.getppid()} {os.environ.get('RAY_JOB_ID', '')}")
    print("hello from a node", flush=True)
    time.sleep(seconds)

if __name__ == "__main__":
    step = write(seconds=float(sys.argv[1]))
    pipeline = tfx.dsl.Pipeline("notes", "root", components=[step])
    tfx.orchestration.LocalDagRunner().run(pipeline)
"""

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc")


class Command:
    """`stoker run`, in a folder of its own, with a mark on all of its processes."""

    def __init__(self, folder):
        self.folder, self.mark = folder, uuid.uuid4().hex
        (folder / "pipeline.py").write_text(PIPELINE)

    def start(self, *words):
        return subprocess.Popen(
            [sys.executable, "-m", "stoker", "run", "pipeline.py", *words],
            cwd=self.folder,
            env={**os.environ, "STOKER_TEST_MARK": self.mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def started(self):
        return next((self.folder / "root").glob("write/model/*/started"), None)

    def wait_for_the_end_of_all(self, run, besides=()):
        deadline = time.monotonic() + 20
        while left := [name for name in self._processes(run) if name not in besides]:
            assert time.monotonic() < deadline, f"left behind: {left}"
            time.sleep(0.1)

    def _processes(self, run):
        """Those of Ray keep files of its session open; those that they start carry the mark."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                files = [os.readlink(fd) for fd in (process / "fd").iterdir()]
                if any(f"_{run.pid}/logs" in file for file in files) or (
                    self.mark.encode() in (process / "environ").read_bytes()
                ):
                    yield (process / "cmdline").read_text().rstrip("\0")
            except OSError:
                continue


@pytest.fixture
def command(tmp_path):
    return Command(tmp_path)


@pytest.mark.slow
def test_an_address_is_for_ray(command):
    _, error = (run := command.start("0", "--address", "host:1")).communicate()
    assert run.returncode == 2
    assert "--on ray" in error


@pytest.mark.slow
def test_a_pipeline_runs_on_ray_unchanged_and_nothing_stays(command):
    out, error = (run := command.start("0", "--on", "ray")).communicate(timeout=300)
    assert run.returncode == 0, error
    assert "hello from a node" in out
    assert command.started().read_text().split()[1:], "it ran outside of Ray"
    command.wait_for_the_end_of_all(run)


@pytest.mark.slow
def test_ray_and_all_steps_end_with_a_runner_that_is_killed(command):
    run = command.start("300", "--on", "ray")
    deadline = time.monotonic() + 240
    while not command.started():
        assert time.monotonic() < deadline
        assert run.poll() is None, run.communicate()
        time.sleep(0.1)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    # Two helpers of Ray's own look for it for another minute.
    command.wait_for_the_end_of_all(run, besides=("ray::DashboardAgent", "ray::RuntimeEnvAgent"))
