# SPDX-License-Identifier: Apache-2.0
"""Forks that end with the process that made them, and bring their errors home."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from stoker.any_python import forking
from stoker.any_python.forking import (
    Child,
    ForkServer,
    ProcessDied,
    ProcessRaised,
    may_fork,
    num_cpus,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")


def leave_pid(_, name, folder):
    Path(folder, f"{name}.part").write_text(str(os.getpid()))
    os.rename(f"{folder}/{name}.part", f"{folder}/{name}")


def leave(*_):
    sys.exit(3)


def fail(*_):
    raise KeyError("a word")


def wait_for_ever(_, name, folder):
    leave_pid(_, name, folder)
    time.sleep(60)


def double(connection):
    while True:
        connection.send(2 * connection.recv())


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


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_child_answers():
    with Child(double) as child:
        child.send(4)
        assert child.receive() == 8


def test_what_a_child_raises_comes_home_with_its_traceback():
    with Child(fail) as child, pytest.raises(ProcessRaised) as raised:
        child.receive()
    assert raised.value.error.args == ("a word",)
    assert "in fail" in str(raised.value)


@pytest.mark.parametrize("num_asked", [0, 1])
def test_the_death_of_a_child_is_told_though_it_was_asked_something(num_asked):
    with Child(double) as child:
        os.kill(child.pid, signal.SIGKILL)
        for _ in range(num_asked):
            child.send(4)
        with pytest.raises(ProcessDied, match="killed by SIGKILL"):
            child.receive()


def test_a_child_that_is_silent_for_too_long_is_told_of():
    with Child(double) as child, pytest.raises(TimeoutError, match=r"0\.1 seconds"):
        child.receive(0.1)


def test_a_child_is_not_ended_by_ctrl_c():
    with Child(double) as child:
        child.send(1)
        child.receive()
        os.kill(child.pid, signal.SIGINT)
        child.send(4)
        assert child.receive() == 8


def test_a_child_ends_with_its_parent_where_the_system_does_not_see_to_it(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(forking, "_LOOK_SECONDS", 0.01)

    def fork_and_die(connection):
        connection.send(Child(double).pid)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGKILL)

    with Child(fork_and_die) as child:
        grandchild = child.receive()
        until(lambda: is_gone(grandchild))


def test_there_is_no_fork_after_tensorflows_first_op(monkeypatch):
    class Context:
        _initialized = True

    class Module:
        context_safe = Context

    assert may_fork() or "tensorflow" in sys.modules
    monkeypatch.setitem(sys.modules, "tensorflow.python.eager.context", Module)
    assert not may_fork()


def test_only_the_processors_that_this_process_may_use_are_counted():
    allowed = os.sched_getaffinity(0)
    found = []

    def count():
        os.sched_setaffinity(0, {min(allowed)})  # of this thread alone
        found.append(num_cpus())

    thread = threading.Thread(target=count)
    thread.start()
    thread.join()
    assert found == [1]


@pytest.mark.parametrize(("work", "reason"), [(leave_pid, "None"), (leave, "exit code 3")])
def test_a_fork_server_tells_how_a_child_ended(tmp_path, work, reason):
    with ForkServer(work) as server:
        server.start("first", tmp_path)
        name, found = server.wait()
    assert (name, str(found)) == ("first", reason)


def test_a_fork_server_brings_home_what_a_child_raised(tmp_path):
    with ForkServer(fail) as server:
        server.start("first", tmp_path)
        _, raised = server.wait()
    assert "in fail" in raised.traceback


def test_every_child_is_a_process_of_its_own(tmp_path):
    with ForkServer(leave_pid) as server:
        for name in ("first", "second"):
            server.start(name, tmp_path)
        assert {server.wait()[0], server.wait()[0]} == {"first", "second"}
    assert len({os.getpid(), pid_of(tmp_path, "first"), pid_of(tmp_path, "second")}) == 3


def test_a_child_that_is_killed_can_be_replaced(tmp_path):
    with ForkServer(wait_for_ever) as server:
        server.start("first", tmp_path)
        os.kill(pid_of(tmp_path, "first"), signal.SIGKILL)
        name, death = server.wait()
        assert (name, death.exit_code) == ("first", -signal.SIGKILL)
        server.start("second", tmp_path)
        assert not is_gone(pid_of(tmp_path, "second"))


def test_a_fork_server_ends_its_children_when_it_is_closed(tmp_path):
    with ForkServer(wait_for_ever) as server:
        server.start("first", tmp_path)
        pid = pid_of(tmp_path, "first")
    until(lambda: is_gone(pid))


def test_children_do_not_outlive_a_fork_server_that_is_killed(tmp_path):
    with ForkServer(wait_for_ever) as server:
        for name in ("first", "second"):
            server.start(name, tmp_path)
        pids = [pid_of(tmp_path, name) for name in ("first", "second")]
        os.kill(parent_of(pids[0]), signal.SIGKILL)
        with pytest.raises(ProcessDied):
            server.wait()
        until(lambda: all(map(is_gone, pids)))


FORKS = """
import os, signal, sys, time
from stoker.any_python.forking import raise_on_sigterm

def end(pid):
    os.kill(pid, signal.SIGTERM)
    for _ in range(1000):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.WTERMSIG(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "never"

with raise_on_sigterm():
    ends = set()
    for number in range(300):
        pid = os.fork()
        if pid == 0:
            while True:
                time.sleep(60)
        time.sleep(number % 30 * 1e-5)
        ends.add(end(pid))
        if "never" in ends:
            break
print(ends)
"""


def test_a_fork_that_is_ended_as_soon_as_it_is_there_ends(run_python):
    assert run_python(FORKS) == f"{{{signal.SIGTERM.value}}}\n"


STOPPED = """
import os, signal, threading, time
from stoker.any_python.forking import raise_on_sigterm

def fork_until_told():
    start = time.monotonic()
    while time.monotonic() < start + 10:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)

num_heard = 0
for number in range(100):
    with raise_on_sigterm():
        timer = threading.Timer(0.01 + number * 1e-5, os.kill, (os.getpid(), signal.SIGTERM))
        try:
            timer.start()  # on a busy machine it may be over when this returns
            fork_until_told()
        except KeyboardInterrupt:
            num_heard += 1
print(num_heard)
"""


def test_who_is_told_to_stop_while_it_forks_stops(run_python):
    assert run_python(STOPPED) == "100\n"
