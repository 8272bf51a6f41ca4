# SPDX-License-Identifier: Apache-2.0
"""The fork server: it imports TensorFlow once, runs no op, and forks a fresh worker per task.

Started by `processes.py` as `python -m stoker.launchers.fork_server FD NEEDS MODE`. FD is a
socket; each request on it is a Task as JSON with four file descriptors: the worker's channel, a
pipe for its exit status, and its standard output and error.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import logging
import os
import select
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterable
from typing import Any, NoReturn

from stoker.any_python.logs import hush_libraries
from stoker.launchers.worker import execute
from stoker.patches.keras_alias import alias_keras, prepare_keras
from stoker.patches.tfma_names import provide_tfma
from stoker.patches.tft_compat import tolerate_pop
from stoker.task import Outcome, ProcessNeeds
from stoker.training.progress import set_sink
from stoker.training.stopping import listening, stop_wanted

__all__ = ["LENGTH_BYTES", "main"]

LENGTH_BYTES = 8
_NUM_FDS = 4
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Prepare what is needed, then serve requests until the runner goes away."""
    control = socket.socket(fileno=int(sys.argv[1]))
    record = json.loads(sys.argv[2])
    needs = ProcessNeeds(**{**record, "preload": tuple(record["preload"])})
    prepare(needs)
    if sys.argv[3] == "fork" and _has_run_an_op() and needs.preload != ("tensorflow",):
        # A module that the user's code imports runs ops when it is imported. Forking after that
        # is not safe: start again without it.
        record["preload"] = ["tensorflow"]
        arguments = ["-P", "-m", "stoker.launchers.fork_server", sys.argv[1], json.dumps(record)]
        os.execv(sys.executable, [sys.executable, *arguments, sys.argv[3]])
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
        tolerate_pop()
        provide_tfma()
        importlib.import_module("tensorflow")
    if needs.keras == 2:
        alias_keras()  # before others import `keras`
    for name in needs.preload:
        # A module that cannot be imported is the worker's to report, with the user's own line.
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)
    gc.freeze()  # what is here is shared with every worker: the collector need not touch it
    gc.enable()


def _has_run_an_op() -> bool:
    if "tensorflow" not in sys.modules:
        return False
    from tensorflow.python.eager import context

    current = context.context_safe()
    return current is not None and bool(current._initialized)


def _receive(control: socket.socket) -> tuple[str, list[int]] | None:
    """The next request, or None when the runner is gone."""
    head, fds, _, _ = socket.recv_fds(control, LENGTH_BYTES, _NUM_FDS)
    if not head:
        return None
    head += _read_exactly(control, LENGTH_BYTES - len(head))
    return _read_exactly(control, int.from_bytes(head, "big")).decode(), list(fds)


def _read_exactly(control: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        if not (part := control.recv(min(size - len(data), 1 << 20))):
            raise EOFError("the runner closed the connection in the middle of a request")
        data += part
    return bytes(data)


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
            request = _receive(control)
            if request is None:
                _kill_groups(exit_pipes)
                return
            task, (channel, exit_pipe, out, err) = request
            pid = _fork()
            if pid == 0:
                for fd in (
                    control.fileno(),
                    wake_read,
                    wake_write,
                    exit_pipe,
                    *exit_pipes.values(),
                ):
                    os.close(fd)
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.setsid()
                _end_with_the_server()
                _work(task, channel, out, err)
            for fd in (channel, out, err):
                os.close(fd)
            os.write(exit_pipe, f"{pid}\n".encode())
            exit_pipes[pid] = exit_pipe


def _fork() -> int:
    with warnings.catch_warnings():
        # Python 3.12 warns about forking with threads; TensorFlow's have run nothing yet.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _kill_groups(pids: Iterable[int]) -> None:
    """End the workers whose runner is gone, and what they started, even if they are stopped."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _end_with_the_server() -> None:
    """Have the system kill this worker when the server dies, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _reap(exit_pipes: dict[int, int]) -> None:
    for pid, exit_pipe in list(exit_pipes.items()):
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            continue
        # What the user's code left running goes with the worker. The worker is not reaped yet, so
        # its process group cannot be anybody else's.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.write(exit_pipe, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os.close(exit_pipes.pop(pid))


def _run_one_here(control: socket.socket) -> None:
    """Where forking is not safe: this process becomes the worker of the first request."""
    request = _receive(control)
    if request is None:
        return
    task, (channel, exit_pipe, out, err) = request
    os.write(exit_pipe, f"{os.getpid()}\n".encode())
    _work(task, channel, out, err)


def _work(task: str, channel_fd: int, out: int, err: int) -> NoReturn:
    for source, target in ((out, 1), (err, 2)):
        os.dup2(source, target)
        os.close(source)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    channel = socket.socket(fileno=channel_fd)
    threading.Thread(target=_end_with_the_runner, args=(channel,), daemon=True).start()
    sending = threading.Lock()

    def send(**message: Any) -> None:
        with sending:
            channel.sendall(json.dumps(message).encode() + b"\n")

    set_sink(lambda record: send(event=record))
    hush_libraries()
    try:
        with listening():
            outcome = execute(task)
    except KeyboardInterrupt:
        outcome = Outcome(canceled=True)
    if stop_wanted():  # the user's code may have caught it
        outcome = Outcome(canceled=True)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    send(outcome=outcome.to_json())
    if json.loads(task)["member"] and not outcome.canceled:
        # Others of its worker group may still need this process. The runner ends them together.
        threading.Event().wait()
    # Not sys.exit: TensorFlow's threads can hold an interpreter back for many seconds.
    os._exit(0)


def _end_with_the_runner(channel: socket.socket) -> None:
    """The runner never writes to the channel: data on it can only be its end."""
    channel.recv(1)
    os._exit(1)


if __name__ == "__main__":
    main()
