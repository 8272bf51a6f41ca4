# SPDX-License-Identifier: Apache-2.0
"""Where a launcher arrives in another interpreter: one Task runs in a process of its own.

The request comes over a socket, as for a fork server at home. This process forks the worker before
anything is imported there, and tells how it ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from typing import Any, Mapping, NoReturn

from .channel import Channel, Request, fork_worker, receive_request
from .logs import hush_deprecations
from .processes import wait_for_exit
from .trainer_task import execute


def serve(control_fd: int) -> None:
    """Take one request, and see the worker to its end."""
    with socket.socket(fileno=control_fd) as control:
        request = receive_request(control)
        if request is None:
            return
        pid = fork_worker(request, [])
        if pid == 0:
            control.close()
            _work(request)
    exit_code = wait_for_exit(pid)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what the user's code left running ends with it
    os.write(request.exit_pipe, f"{exit_code}\n".encode())


def _work(request: Request) -> NoReturn:
    channel = Channel(request)
    task = json.loads(request.task)
    hush_deprecations()
    outcome = execute(task, lambda text: channel.report(_warning(task, text)))
    channel.answer(json.dumps(outcome))
    os._exit(0)  # TensorFlow's threads can hold an interpreter back for many seconds


def _warning(task: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {"kind": "warning", "text": text, "node": task["node_id"]}
