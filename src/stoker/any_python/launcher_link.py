# SPDX-License-Identifier: Apache-2.0
"""How a worker is asked for, and how it answers: the same in every interpreter.

    launcher ──request: a Task as JSON, four file descriptors──▶ fork server ──▶ worker
       ▲                                                                           │
       └── exit status, standard output and error, channel: events, the Outcome ◀──┘

The channel is the worker's lifeline too: when the launcher's end closes, the worker ends itself.
"""

from __future__ import annotations

import array
import faulthandler
import json
import os
import socket
import sys
import threading
from typing import Any, Callable, NamedTuple, NoReturn, Sequence

from .failures import HOW_TO_DEBUG, StokerError
from .forking import fork
from .streams import flush_logs, flush_streams

_LENGTH_BYTES = 8
_NUM_FDS = 4
_PART_BYTES = 1 << 20


class Request(NamedTuple):
    """A Task as JSON, and the worker's ends of what connects it with the launcher."""

    task: str
    channel: int
    exit_pipe: int
    out: int
    err: int


def send_request(control: socket.socket, task: str, fds: Sequence[int]) -> None:
    """Ask for a worker; `fds` in the order of Request."""
    payload = task.encode()
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))
    control.sendmsg([len(payload).to_bytes(_LENGTH_BYTES, "big")], [rights])
    control.sendall(payload)


def receive_request(control: socket.socket) -> Request | None:
    """The next request, or None when the launcher is gone."""
    head, ancillary, _, _ = control.recvmsg(_LENGTH_BYTES, socket.CMSG_SPACE(4 * _NUM_FDS))
    if not head:
        return None
    fds = array.array("i")
    for _, _, data in ancillary:
        fds.frombytes(data)
    length = int.from_bytes(head + _read(control, _LENGTH_BYTES - len(head)), "big")
    return Request(_read(control, length).decode(), *fds)


def _read(control: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = control.recv(min(size - len(data), _PART_BYTES))
        if not part:
            raise EOFError("the launcher closed the connection in the middle of a request")
        data += part
    return bytes(data)


def fork_worker(request: Request, inherited: Sequence[int]) -> int:
    """Fork a worker that leads a process group, without `inherited`; 0 in the worker itself."""
    pid = fork()
    if pid == 0:
        for fd in (request.exit_pipe, *inherited):
            os.close(fd)
        os.setsid()
        return 0
    for fd in (request.channel, request.out, request.err):
        os.close(fd)
    os.write(request.exit_pipe, f"{pid}\n".encode())
    return pid


class _Sink:
    send: Callable[[dict[str, Any]], None] | None = None


def set_sink(sink: Callable[[dict[str, Any]], None] | None) -> None:
    """Say where this process's reports go; with None, nowhere."""
    _Sink.send = sink


def is_at_work() -> bool:
    """Whether this process is at a task, and has somebody to report to."""
    return _Sink.send is not None


def report(record: dict[str, Any]) -> None:
    """Tell the runner of progress, or of something to warn about."""
    if _Sink.send:
        _Sink.send(record)


def report_doing(doing: str) -> None:
    """Say what the step does from now on; a `progress.Progress` counts as well."""
    report({"kind": "progress", "doing": doing})


class LauncherLink:
    """What a worker tells its launcher. It prints to where the request says from now on."""

    def __init__(self, request: Request) -> None:
        for source, target in ((request.out, 1), (request.err, 2)):
            os.dup2(source, target)
            os.close(source)
        for stream in (sys.__stdout__, sys.__stderr__):  # a module may have replaced the others
            if stream is not None:
                stream.reconfigure(line_buffering=True)
        faulthandler.enable(file=2)  # a signal that kills this process leaves its stack
        _explain_breakpoints()
        self._socket = socket.socket(fileno=request.channel)
        self._sending = threading.Lock()
        threading.Thread(target=self._end_with_the_launcher, daemon=True).start()

    def report(self, record: dict[str, Any]) -> None:
        """Tell of progress, or of something to warn about."""
        self._send(event=record)

    def answer(self, outcome: str) -> None:
        """Tell how the task ended, after everything that it has printed."""
        flush_logs()
        flush_streams()
        self._send(outcome=outcome)

    def _send(self, **message: Any) -> None:
        with self._sending:
            self._socket.sendall(json.dumps(message).encode() + b"\n")

    def _end_with_the_launcher(self) -> NoReturn:
        self._socket.recv(1)  # the launcher never writes to it: this can only be its end
        os._exit(1)


def _explain_breakpoints() -> None:
    """Let `breakpoint()` say how to debug, unless the user has chosen a debugger."""
    if sys.breakpointhook is sys.__breakpointhook__ and not os.environ.get("PYTHONBREAKPOINT"):
        sys.breakpointhook = _refuse_breakpoint


def _refuse_breakpoint(*_: object, **__: object) -> None:
    raise StokerError("breakpoint() finds no terminal here. " + HOW_TO_DEBUG)
