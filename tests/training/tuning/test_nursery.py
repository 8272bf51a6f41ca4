# SPDX-License-Identifier: Apache-2.0
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from stoker.errors import StepFailed
from stoker.training.tuning.nursery import Nursery

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")


def leave_pid(name, folder):
    Path(folder, f"{name}.part").write_text(str(os.getpid()))
    os.rename(f"{folder}/{name}.part", f"{folder}/{name}")


def end(name, folder):
    leave_pid(name, folder)


def fail(name, folder):
    sys.exit(3)


def wait_for_ever(name, folder):
    leave_pid(name, folder)
    time.sleep(60)


def pid_of(folder, name):
    until(lambda: (folder / name).exists())
    return int((folder / name).read_text())


def until(happened):
    deadline = time.monotonic() + 10
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize(("work", "exit_code"), [(end, 0), (fail, 3)])
def test_it_tells_how_a_worker_ended(tmp_path, work, exit_code):
    with Nursery(work) as nursery:
        nursery.start("first", tmp_path)
        assert nursery.wait() == ("first", exit_code)


def test_every_worker_is_a_process_of_its_own(tmp_path):
    with Nursery(end) as nursery:
        for name in ("first", "second"):
            nursery.start(name, tmp_path)
        assert {nursery.wait()[0], nursery.wait()[0]} == {"first", "second"}
    assert len({os.getpid(), pid_of(tmp_path, "first"), pid_of(tmp_path, "second")}) == 3


def test_a_worker_that_is_killed_can_be_replaced(tmp_path):
    with Nursery(wait_for_ever) as nursery:
        nursery.start("first", tmp_path)
        os.kill(pid_of(tmp_path, "first"), signal.SIGKILL)
        assert nursery.wait() == ("first", -signal.SIGKILL)
        nursery.start("second", tmp_path)
        assert not is_gone(pid_of(tmp_path, "second"))


def test_it_ends_its_workers_when_it_is_closed(tmp_path):
    with Nursery(wait_for_ever) as nursery:
        nursery.start("first", tmp_path)
        pid = pid_of(tmp_path, "first")
    until(lambda: is_gone(pid))


def test_workers_do_not_outlive_a_nursery_that_is_killed(tmp_path):
    with Nursery(wait_for_ever) as nursery:
        for name in ("first", "second"):
            nursery.start(name, tmp_path)
        pids = [pid_of(tmp_path, name) for name in ("first", "second")]
        parent = int(Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        with pytest.raises(StepFailed, match="was killed"):
            nursery.wait()
        until(lambda: all(map(is_gone, pids)))
