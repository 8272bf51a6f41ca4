# SPDX-License-Identifier: Apache-2.0
"""Runs whose steps run beside each other: their records, failures, Ctrl-C and kills."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import branching_pipeline
import leaving_pipeline
import pytest

from stoker.dsl import OutputDict, Parameter, Pipeline, component
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.metadata.records import ExecutionState
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner

pytestmark = pytest.mark.slow

PIPELINE = branching_pipeline.__file__


def read_executions(folder):
    root = os.path.join(folder, "root")
    with Store(Pipeline("any", root).store_config(root)) as store:
        return store.executions()


def states(folder):
    return {one.node_id: one.state.name for one in read_executions(folder)}


def start(folder, seconds):
    """A run whose two branches are under way, and stay so for a while."""
    process = subprocess.Popen(
        [sys.executable, PIPELINE, folder, str(seconds)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until = time.monotonic() + 30
    while not all((folder / name).exists() and (folder / name).read_text() for name in "ab"):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.02)
    return process


def read_pids(folder):
    return [int((folder / name).read_text()) for name in "ab"]


def is_alive(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def test_branches_overlap_and_are_recorded_as_ever(tmp_path, capfd):
    (tmp_path / "seconds").write_text("0.2")
    run = LocalDagRunner(parallel=2).run(branching_pipeline.declare(str(tmp_path)))
    assert list(run.outputs) == ["a", "b", "end"]
    assert run.outputs["end"]["number"][0].value == 2
    a, b, end = sorted(read_executions(tmp_path), key=lambda one: one.node_id)
    assert max(a.created_ms, b.created_ms) < min(a.updated_ms, b.updated_ms)
    assert end.created_ms >= max(a.updated_ms, b.updated_ms)
    assert states(tmp_path) == dict.fromkeys(("a", "b", "end"), "COMPLETE")
    with Store(Pipeline("any", run.pipeline_root).store_config(run.pipeline_root)) as store:
        lineage = store.lineage(run.outputs["end"]["number"][0].id)
    made_by = {one.node_id for one in lineage.executions}
    assert made_by == {"a", "b", "end"}
    printed = capfd.readouterr().out.splitlines()
    assert "a: a has met b" in printed or "b: b has met a" in printed


@component
def note(name: Parameter[str], folder: Parameter[str]) -> OutputDict(pid=int):
    with open(Path(folder, "order"), "a") as file:
        file.write(name)
    return {"pid": os.getpid()}


def test_one_at_a_time_keeps_the_order_of_the_pipeline(tmp_path):
    steps = [note(name=name, folder=str(tmp_path)).with_id(name) for name in "cab"]
    for launcher, parallel in ((None, 1), (InProcess(), 2)):
        root = str(tmp_path / "root")
        LocalDagRunner(launcher, parallel=parallel).run(
            Pipeline(f"order{parallel}", root, components=steps)
        )
    assert (tmp_path / "order").read_text() == "cabcab"
    times = [(one.created_ms, one.updated_ms) for one in read_executions(tmp_path)]
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(times))


def test_a_step_that_reads_a_file_which_one_before_it_leaves_waits_for_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = [leaving_pipeline.tune(), leaving_pipeline.train()]
    LocalDagRunner(parallel=2).run(Pipeline("p", str(tmp_path / "root"), components=steps))
    assert states(tmp_path) == {"tune": "COMPLETE", "train": "COMPLETE"}


def wait_for(path):
    until = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < until
        time.sleep(0.01)


@component
def break_down(folder: Parameter[str]):
    wait_for(Path(folder, "lasting"))
    Path(folder, "broken").write_text("")
    raise ZeroDivisionError("it is broken")


@component
def last_longer(folder: Parameter[str]) -> OutputDict(done=int):
    Path(folder, "lasting").write_text("")
    wait_for(Path(folder, "broken"))
    time.sleep(0.3)
    return {"done": 1}


@component
def fail_too(folder: Parameter[str]):
    Path(folder, "lasting").write_text("")
    wait_for(Path(folder, "broken"))
    time.sleep(0.3)
    raise LookupError("lost as well")


@component
def never(done: int) -> OutputDict(number=int):
    return {"number": done}


def test_a_failure_lets_those_end_that_run_and_starts_no_other(tmp_path, capsys):
    broken, lasting = break_down(folder=str(tmp_path)), last_longer(folder=str(tmp_path))
    after = never(done=lasting.outputs["done"])
    pipeline = Pipeline("failing", str(tmp_path / "root"), components=[broken, lasting, after])
    with pytest.raises(StepFailed, match="break_down failed: ZeroDivisionError: it is broken"):
        LocalDagRunner(parallel=2).run(pipeline)
    assert states(tmp_path) == {"break_down": "FAILED", "last_longer": "COMPLETE"}
    told = capsys.readouterr().err
    assert "break_down failed. The run ends with last_longer." in told
    assert "add_upstream_node" not in told  # which would help one that comes after
    assert "last_longer done in" in told


def test_of_two_failures_the_first_is_raised_and_the_second_told(tmp_path, capsys):
    steps = [break_down(folder=str(tmp_path)), fail_too(folder=str(tmp_path))]
    pipeline = Pipeline("failing", str(tmp_path / "root"), components=steps)
    with pytest.raises(StepFailed, match="it is broken"):
        LocalDagRunner(parallel=2).run(pipeline)
    assert "fail_too failed: LookupError: lost as well" in capsys.readouterr().err
    assert set(states(tmp_path).values()) == {"FAILED"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_both_and_closes_both(tmp_path, number):
    process = start(tmp_path, 60)
    os.kill(process.pid, number)
    _, told = process.communicate(timeout=30)
    assert process.returncode not in (0, None)
    assert states(tmp_path) == {"a": "CANCELED", "b": "CANCELED"}
    assert "Stopped in a and b. Run the same command to go on." in told
    assert "Traceback" not in told
    assert not any(map(is_alive, read_pids(tmp_path)))


def test_the_runner_killed_leaves_nothing_and_the_next_run_closes_both(tmp_path):
    process = start(tmp_path, 60)
    pids = read_pids(tmp_path)
    process.kill()
    process.communicate(timeout=30)
    assert states(tmp_path) == {"a": "RUNNING", "b": "RUNNING"}
    until = time.monotonic() + 10
    while any(map(is_alive, pids)):
        assert time.monotonic() < until
        time.sleep(0.02)
    for name in "ab":
        (tmp_path / name).unlink()
    (tmp_path / "seconds").write_text("0")
    LocalDagRunner(parallel=2).run(branching_pipeline.declare(str(tmp_path)))
    ends = [(one.node_id, one.state) for one in read_executions(tmp_path)]
    assert ends.count(("a", ExecutionState.FAILED)) == ends.count(("b", ExecutionState.FAILED)) == 1
    assert ends[2:].count(("end", ExecutionState.COMPLETE)) == 1
