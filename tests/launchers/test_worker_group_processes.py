# SPDX-License-Identifier: Apache-2.0
"""Gangs of real processes under the runner, with code of their own instead of TensorFlow's."""

import json
import os
import queue
import signal
import time
from pathlib import Path

import pytest
from marked_worker_group import WorkerGroup

from stoker.dsl import Pipeline, component
from stoker.errors import StepFailed
from stoker.launchers.processes import Processes
from stoker.runner import LocalDagRunner
from stoker.task import Member, Outcome, Workers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc"),
]


@pytest.fixture
def group(tmp_path, monkeypatch):
    return WorkerGroup(tmp_path, monkeypatch)


def test_everyone_is_told_the_same_cluster_and_the_chief_is_published(group, capfd):
    outputs = group.train("time.sleep(0.1)", Workers(3))
    assert group.starts() == ["chief-0.0", "worker-0.0", "worker-1.0"]
    (cluster,) = {path.read_text() for path in group.notes.iterdir()}
    assert {role: len(found) for role, found in json.loads(cluster)["cluster"].items()} == {
        "chief": 1,
        "worker": 2,
    }
    assert Path(outputs["model"][0].uri, "Format-Serving", "model.txt").read_text() == "chief-0"
    logs = Path(outputs["model_run"][0].uri, "workers")
    assert (logs / "worker-1.log").read_text() == "worker-1 says hello\n"
    assert (logs / "chief-0.log").read_text() == "chief-0 says hello\n"
    log = (logs.parent / "log.txt").read_text()
    assert log.startswith("chief-0 says hello\nTrainer: the model check: It was not loaded")
    assert "worker-1 says hello" not in capfd.readouterr().out


def test_a_lost_process_ends_all_and_they_begin_again_at_new_addresses(group, capfd):
    outputs = group.train(
        'if me == "worker-0" and not attempt: os.kill(os.getpid(), signal.SIGKILL)\n'
        "if not attempt: time.sleep(60)"
    )
    assert group.starts() == ["chief-0.0", "chief-0.1", "worker-0.0", "worker-0.1"]
    first, second = ((group.notes / f"chief-0.{number}").read_text() for number in (0, 1))
    assert first != second
    assert "worker-0 (process" in capfd.readouterr().err
    written = Path(outputs["model"][0].uri, "Format-Serving").iterdir()
    assert sorted(path.name for path in written) == ["model.txt", "of-attempt-1"]


@pytest.mark.slow
def test_the_error_tells_who_where_and_its_last_lines(group):
    with pytest.raises(StepFailed) as caught:
        group.train('if me == "worker-0": os._exit(3)\ntime.sleep(60)', retries=1)
    message = str(caught.value)
    assert "worker-0 (process" in message
    assert "exit code 3" in message
    assert "attempt 2" in message
    assert "  worker-0 says hello" in message
    assert "workers/worker-0.log" in message


@pytest.mark.slow
def test_an_error_of_the_users_own_comes_with_its_traceback_and_only_once(group, capfd):
    with pytest.raises(StepFailed, match=r"ValueError: worker-1 \(process \d+ on this machine\)"):
        group.train('if me == "worker-1": raise ValueError("no luck")\ntime.sleep(60)', Workers(3))
    assert "chief-0.1" not in group.starts()
    assert 'raise ValueError("no luck")' in capfd.readouterr().err


@pytest.mark.slow
def test_one_process_alone_may_begin_again_too(group):
    body = "if not attempt: os.kill(os.getpid(), signal.SIGKILL)"
    group.train(body, workers=None, retries=1)
    assert group.starts() == ["alone-0.0", "alone-0.1"]


@pytest.mark.slow
def test_gpu_memory_grows_unless_the_user_says_otherwise(group, monkeypatch):
    body = '(notes / f"growth.{attempt}").write_text(os.environ["TF_FORCE_GPU_ALLOW_GROWTH"])'
    group.train(body, workers=None)
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", "false")
    group.train(body, workers=None)
    assert [(group.notes / f"growth.{number}").read_text() for number in (0, 1)] == [
        "true",
        "false",
    ]


@pytest.mark.slow
def test_what_a_process_started_ends_with_it(group):
    body = (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        'if me == "worker-0": raise ValueError("enough")\n'
        "time.sleep(60)"
    )
    with pytest.raises(StepFailed, match="enough"):
        group.train(body)


@pytest.mark.slow
def test_a_process_that_is_stopped_is_found_by_its_silence(group, capfd):
    started = time.monotonic()
    group.train(
        'if me == "worker-0" and not attempt: os.kill(os.getpid(), signal.SIGSTOP)\n'
        "if not attempt: time.sleep(60)"
    )
    assert time.monotonic() - started < 30
    assert "worker-0 (process" in (err := capfd.readouterr().err)
    assert "no sign of life" in err


@pytest.mark.slow
def test_a_process_that_is_too_busy_to_give_a_sign_is_left_alone(group, monkeypatch):
    monkeypatch.setattr("stoker.launchers.worker_group._SILENT_SECONDS", 1.5)
    # One long call of C keeps all other threads of the process waiting.
    group.train('if me == "worker-0": sum(range(150_000_000))\ntime.sleep(0.1)')
    assert group.starts() == ["chief-0.0", "worker-0.0"]


@pytest.mark.slow
def test_ctrl_c_stops_everyone(group):
    group.press_ctrl_c_when_up()
    with pytest.raises(KeyboardInterrupt):
        group.train("time.sleep(60)")


@pytest.mark.slow
def test_a_worker_group_ends_with_its_runner(group):
    runner = os.fork()
    if runner == 0:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        group.train('if me == "worker-0": os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(60)')
        os._exit(1)
    deadline = time.monotonic() + 20
    while not (group.notes / "worker-0.0").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(runner, signal.SIGKILL)
    os.waitpid(runner, 0)
    while left := group.processes():
        assert time.monotonic() < deadline, f"left behind: {left}"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_runner_that_was_held_itself_does_not_blame_its_workers(group, monkeypatch):
    monkeypatch.setattr("stoker.launchers.worker_group._SILENT_SECONDS", 2.5)
    runner = os.fork()
    if runner == 0:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        group.train("time.sleep(6)")
        os._exit(0)
    while len(group.starts()) < 2:
        time.sleep(0.05)
    os.kill(runner, signal.SIGSTOP)
    time.sleep(4)
    os.kill(runner, signal.SIGCONT)
    assert os.waitpid(runner, 0)[1] == 0
    assert group.starts() == ["chief-0.0", "worker-0.0"]


LISTEN = """
config = json.loads(os.environ["TF_CONFIG"])
import socket
port = int(config["cluster"][task["type"]][task["index"]].rpartition(":")[2])
server = socket.create_server(("HOST", port))
time.sleep(2.5)
server.close()
"""


@pytest.mark.parametrize(
    ("host", "workers", "warns"),
    [("127.0.0.1", Workers(2), 0), ("0.0.0.0", Workers(2, bind="0.0.0.0"), 1)],
)
def test_a_group_that_listens_on_all_interfaces_says_so_once(group, capfd, host, workers, warns):
    group.train(LISTEN.replace("HOST", host), workers)
    told = capfd.readouterr().err
    assert told.count("listen on every network interface, and ask for no password") == warns


def test_a_group_is_found_where_it_is_told_to_listen(group):
    group.train("time.sleep(0.1)", Workers(2, bind="127.0.0.9"))
    (cluster,) = {path.read_text() for path in group.notes.iterdir()}
    found = [one for many in json.loads(cluster)["cluster"].values() for one in many]
    assert {address.partition(":")[0] for address in found} == {"127.0.0.9"}


@component
def print_before_the_end():
    print("before the end", flush=True)


class _ReadsLate(Processes):
    """Reads nothing of a step until that has ended, as on a busy machine."""

    def __init__(self):
        super().__init__()
        self.read = queue.SimpleQueue()

    def launch(self, task, watcher):
        (slot,) = self.reserve([Member(role="chief")], Workers())
        slot.start(task, self, self.read.put)
        while not isinstance(found := self.read.get(), Outcome):
            watcher.output(found, error=False)
        slot.kill()
        return found

    def event(self, record):
        time.sleep(1)

    def output(self, data, *, error):
        self.read.put(data)


def test_what_a_member_printed_is_read_before_its_outcome(tmp_path, capfd):
    step = print_before_the_end()
    LocalDagRunner(_ReadsLate()).run(Pipeline("late", str(tmp_path), components=[step]))
    assert "before the end" in capfd.readouterr().out
