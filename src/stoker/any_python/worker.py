# SPDX-License-Identifier: Apache-2.0
"""Where a launcher arrives in another interpreter: one Task runs in a process of its own.

The request comes over a socket, as for a fork server at home: a length, JSON, and four file
descriptors: the worker's channel, a pipe for its exit status, its standard output and error. This
process forks the worker before anything is imported there, and tells how it ended.
"""

from __future__ import annotations

import array
import contextlib
import json
import logging
import os
import signal
import socket
import sys
import threading
from typing import Any, Mapping, Sequence

from .logs import hush_deprecations
from .trainer_task import execute

LENGTH_BYTES = 8
_NUM_FDS = 4


def serve(control_fd: int) -> None:
    """Take one request, and see the worker to its end."""
    control = socket.socket(fileno=control_fd)
    received = _receive(control)
    if received is None:
        return
    task, (channel, exit_pipe, out, err) = received
    pid = os.fork()
    if pid == 0:
        control.close()
        os.close(exit_pipe)
        os.setsid()
        _work(task, channel, out, err)
    control.close()
    for fd in (channel, out, err):
        os.close(fd)
    os.write(exit_pipe, f"{pid}\n".encode())
    os.write(exit_pipe, f"{_exit_code(pid)}\n".encode())


def _receive(control: socket.socket) -> tuple[dict[str, Any], Sequence[int]] | None:
    """The request, or None when the launcher has gone away."""
    fds = array.array("i")
    head, ancillary, _, _ = control.recvmsg(LENGTH_BYTES, socket.CMSG_SPACE(4 * _NUM_FDS))
    if not head:
        return None
    for _, _, data in ancillary:
        fds.frombytes(data)
    length = int.from_bytes(head + _read_exactly(control, LENGTH_BYTES - len(head)), "big")
    return json.loads(_read_exactly(control, length).decode()), list(fds)


def _read_exactly(control: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = control.recv(min(size - len(data), 1 << 20))
        if not part:
            raise EOFError("the launcher closed the connection in the middle of a request")
        data += part
    return bytes(data)


def _exit_code(pid: int) -> int:
    """How the worker ended; what the user's code left running ends with it."""
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _work(task: Mapping[str, Any], channel_fd: int, out: int, err: int) -> None:
    for source, target in ((out, 1), (err, 2)):
        os.dup2(source, target)
        os.close(source)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    channel = socket.socket(fileno=channel_fd)
    threading.Thread(target=_end_with_the_runner, args=(channel,), daemon=True).start()

    def send(message: dict[str, Any]) -> None:
        channel.sendall(json.dumps(message).encode() + b"\n")

    hush_deprecations()
    outcome = execute(task, lambda text: send({"event": _warning(task, text)}))
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    send({"outcome": json.dumps(outcome)})
    os._exit(0)  # TensorFlow's threads can hold an interpreter back for many seconds


def _warning(task: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {"kind": "warning", "text": text, "node": task["node_id"]}


def _end_with_the_runner(channel: socket.socket) -> None:
    """The runner never writes to the channel: data on it can only be its end."""
    channel.recv(1)
    os._exit(1)
