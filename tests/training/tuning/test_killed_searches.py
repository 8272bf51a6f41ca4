# SPDX-License-Identifier: Apache-2.0
"""Searches that are killed in the middle, and run again."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from searching import box, logged, results, run, slow_box

pytestmark = [pytest.mark.tf, pytest.mark.slow]

SCRIPT = Path(__file__).parent / "box_pipeline.py"


def start(root, parallel):
    """A search in a process of its own that has just begun its fourth trial."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(root), str(parallel)], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while len(logged(root, "started")) < 4:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


@pytest.fixture(scope="module")
def whole(tmp_path_factory, kept_fork_servers):
    """What a search finds that nobody kills."""
    folder = tmp_path_factory.mktemp("whole")
    return results(run(folder, kept_fork_servers, box(folder, arguments={"max_trials": 7})))


def kill_the_runner(process, root):
    process.kill()


def kill_the_step(process, root):
    os.kill(int(logged(root, "processes")[-1]), signal.SIGKILL)


@pytest.mark.parametrize(
    ("kill", "parallel"),
    [(kill_the_runner, 1), (kill_the_runner, 2), (kill_the_step, 1)],
    ids=["runner", "runner, parallel", "step"],
)
def test_finished_trials_are_not_run_again_and_the_result_is_the_same(
    tmp_path, launcher, whole, kill, parallel, capfd
):
    process = start(tmp_path, parallel)
    finished = logged(tmp_path, "ended")
    kill(process, tmp_path)
    process.communicate(timeout=30)

    ended = run(tmp_path, launcher, slow_box(tmp_path, parallel))

    assert len(finished) == 4 - parallel
    assert "are not run again" in capfd.readouterr().err
    started, trials = logged(tmp_path, "started"), [f"{number}" for number in range(7)]
    assert sorted(set(started)) == trials
    assert [one for one in finished if started.count(one) > 1] == []
    assert sorted(logged(tmp_path, "ended")) == trials  # each once
    assert results(ended) == whole


def test_a_fresh_run_starts_at_the_first_trial(tmp_path, launcher, capfd):
    process = start(tmp_path, 1)
    process.kill()
    process.communicate(timeout=30)
    before = len(logged(tmp_path, "started"))

    run(tmp_path, launcher, slow_box(tmp_path, 1), fresh=True)

    assert "are not run again" not in capfd.readouterr().err
    assert logged(tmp_path, "started")[before:] == [f"{number}" for number in range(7)]


def test_a_search_whose_state_is_damaged_begins_again(tmp_path, launcher, capfd):
    process = start(tmp_path, 1)
    process.kill()
    process.communicate(timeout=30)
    before = len(logged(tmp_path, "started"))
    (oracle,) = (tmp_path / "root" / ".stoker" / "checkpoints").rglob("oracle.json")
    os.truncate(oracle, 20)

    run(tmp_path, launcher, slow_box(tmp_path, 1))

    assert "oracle.json is damaged: the search begins again" in capfd.readouterr().err
    assert logged(tmp_path, "started")[before:] == [f"{number}" for number in range(7)]


def test_processes_of_a_killed_search_do_not_go_on(tmp_path):
    process = start(tmp_path, 2)
    process.kill()
    process.communicate(timeout=30)
    pids = {int(pid) for pid in logged(tmp_path, "processes")}
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)
