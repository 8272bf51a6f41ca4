# SPDX-License-Identifier: Apache-2.0
"""The fork server: it imports TensorFlow once, runs no op, and forks a fresh worker per task.

Started by `start_fork_server.py` with the arguments FD NEEDS MODE. FD is a socket for requests, as
in `any_python/launcher_link.py`.
"""

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
import warnings
from typing import Any, NoReturn

from stoker.any_python.forking import (
    defer_stop,
    get_saved_step,
    has_run_an_op,
    is_stop_wanted,
    raise_on_sigterm,
    wait_for_exit,
)
from stoker.any_python.launcher_link import (
    LauncherLink,
    Request,
    fork_worker,
    receive_request,
    set_sink,
)
from stoker.any_python.logs import hush_libraries
from stoker.any_python.observing import observe_preloading
from stoker.launchers.worker import execute
from stoker.patches.keras import put_off_others
from stoker.patches.mlflow import limit_digests
from stoker.patches.tensorflow import put_off_google, spare_autograph
from stoker.patches.tensorflow_transform import provide_old_names, tolerate_pop
from stoker.patches.tensorflow_transform_older import take_older_calls
from stoker.patches.tf_keras import alias_keras, prepare_keras, put_off_images
from stoker.patches.tfx_bsl import put_off_beam
from stoker.task import Outcome, ProcessNeeds, Task


class _State:
    import_cpu_seconds = 0.0
    """What this server has computed before its first fork."""


def main() -> None:
    """Prepare what is needed, then serve requests until the runner goes away."""
    control = socket.socket(fileno=int(sys.argv[1]))
    record = json.loads(sys.argv[2])
    needs = ProcessNeeds(**{**record, "preload": tuple(record["preload"])})
    prepare(needs)
    if sys.argv[3] == "fork" and has_run_an_op() and needs.preload != ("tensorflow",):
        # A module that the user's code imports runs ops when it is imported. Forking after that
        # is not safe: start again without it.
        record["preload"] = ["tensorflow"]
        start = [sys.executable, "-P", "-m", "stoker.launchers.start_fork_server"]
        os.execv(sys.executable, [*start, sys.argv[1], json.dumps(record), sys.argv[3]])
    hush_libraries()
    _State.import_cpu_seconds = time.process_time()
    if sys.argv[3] == "fork":
        _serve(control)
    else:
        _run_one_here(control)
    os._exit(0)  # an interpreter that has TensorFlow takes most of a second to take itself down


def prepare(needs: ProcessNeeds) -> None:
    """Decide Keras, then import what the workers will need."""
    gc.disable()  # a fifth of the time of these imports
    prepare_keras(needs)
    if needs.tensorflow:
        put_off_google()
        put_off_images()
        put_off_others()
        tolerate_pop()
        provide_old_names()
        take_older_calls()
        limit_digests()
        put_off_beam()
        importlib.import_module("tensorflow")
        spare_autograph()
    if needs.keras == 2:
        alias_keras()  # before others import `keras`
    with observe_preloading():
        for name in needs.preload:
            # A module that cannot be imported is the worker's to report, with the user's own line.
            with contextlib.suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(name)
    gc.freeze()  # what is here is shared with every worker: the collector need not touch it
    gc.enable()


def _serve(control: socket.socket) -> None:
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    exit_pipes: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([control.fileno(), wake_read], [], [])
        if wake_read in ready:
            os.read(wake_read, 4096)
            _reap(exit_pipes)
        if control.fileno() in ready:
            request = receive_request(control)
            if request is None:
                for pid in exit_pipes:
                    _kill_group(pid)
                return
            inherited = (control.fileno(), wake_read, wake_write, *exit_pipes.values())
            pid = fork_worker(request, inherited)
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _work(request)
            exit_pipes[pid] = request.exit_pipe


def _reap(exit_pipes: dict[int, int]) -> None:
    for pid, exit_pipe in list(exit_pipes.items()):
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            continue
        # What the user's code left running goes with the worker. The worker is not reaped yet, so
        # its process group cannot be anybody else's.
        _kill_group(pid)
        os.write(exit_pipe, f"{wait_for_exit(pid)}\n".encode())
        os.close(exit_pipes.pop(pid))


def _kill_group(pid: int) -> None:
    """End a worker and what it started, even if they are stopped."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _run_one_here(control: socket.socket) -> None:
    """Where forking is not safe: this process becomes the worker of the first request."""
    if request := receive_request(control):
        os.write(request.exit_pipe, f"{os.getpid()}\n".encode())
        _work(request)


def _work(request: Request) -> NoReturn:
    link = LauncherLink(request)
    set_sink(link.report)
    task = Task.from_json(request.task)
    with raise_on_sigterm():
        try:
            outcome = execute(task)
        except KeyboardInterrupt:
            outcome = Outcome(canceled=True, saved_step=get_saved_step())
        with defer_stop():  # told to stop again, it still says how far it is
            if is_stop_wanted():  # the user's code may have caught it
                outcome = Outcome(canceled=True, saved_step=get_saved_step())
            link.report(_describe_usage())
            link.answer(outcome.to_json())
    if task.member and not outcome.canceled:
        # Others of its group may still need this process. The runner ends them together.
        threading.Event().wait()
    # Not sys.exit: TensorFlow's threads can hold an interpreter back for many seconds.
    os._exit(0)


def _describe_usage() -> dict[str, Any]:
    """How much this worker has computed, and the server before it."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "kind": "usage",
        "cpu_seconds": sum(usage.ru_utime + usage.ru_stime for usage in usages),
        "server": os.getppid(),
        "import_cpu_seconds": _State.import_cpu_seconds,
    }
