# SPDX-License-Identifier: Apache-2.0
"""The default launcher: every task in a fresh process, forked from a template that is warm already.

    runner ──control socket──▶ template ──fork──▶ worker
       ▲                          │                 │
       └────── exit status ◀──────┘                 │
       └────── channel: the Outcome ◀───────────────┘

The channel is the worker's lifeline too: when the runner's end closes, the worker ends itself.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, replace

from stoker.launchers.template import LENGTH_BYTES
from stoker.task import Environment, Failure, Outcome, Task

__all__ = ["Processes"]

_GRACE_SECONDS = 5.0
# TensorFlow's C++ part reports a missing GPU as an error, which it is only where there is one.
_QUIET = "2" if os.path.exists("/dev/nvidiactl") else "3"


class Processes:
    """Runs each task in a process of its own on this machine."""

    def __init__(self, *, fork: bool = sys.platform == "linux") -> None:
        self._fork = fork
        self._templates: dict[tuple[bool, int | None], _Template] = {}

    def prepare(self, environments: Iterable[Environment]) -> None:
        """Start one template per kind of environment, in the background."""
        merged: dict[tuple[bool, int | None], Environment] = {}
        for environment in environments:
            known = merged.get(_kind(environment), environment)
            preload = tuple(dict.fromkeys([*known.preload, *environment.preload]))
            merged[_kind(environment)] = replace(known, preload=preload)
        for kind, environment in merged.items():
            if kind not in self._templates:
                self._templates[kind] = _Template(environment, fork=self._fork)

    def launch(self, task: Task) -> Outcome:
        """Run a task in a fresh process; Ctrl-C stops the process and gives a canceled Outcome."""
        self.prepare([task.environment])
        kind = _kind(task.environment)
        template = self._templates[kind]
        if not self._fork:  # a single-use process: start the next one while this one works
            self._templates[kind] = _Template(template.environment, fork=False)
        try:
            with _Worker(template, task) as worker:
                try:
                    return worker.outcome()
                except KeyboardInterrupt:
                    worker.stop()
                    return Outcome(canceled=True)
        finally:
            if not self._fork:
                template.close()

    def close(self) -> None:
        """End every template."""
        for template in self._templates.values():
            template.close()
        self._templates.clear()


def _kind(environment: Environment) -> tuple[bool, int | None]:
    return environment.tensorflow, environment.keras


class _Template:
    """A template process, seen from the runner."""

    def __init__(self, environment: Environment, *, fork: bool) -> None:
        self.environment = environment
        self.control, theirs = socket.socketpair()
        # TensorFlow greets on standard error when it is imported; it is shown only on failure.
        self._greeting = tempfile.TemporaryFile()  # noqa: SIM115
        with theirs:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "stoker.launchers.template"),
                    *(str(theirs.fileno()), json.dumps(asdict(environment))),
                    "fork" if fork else "single-use",
                ],
                stdin=subprocess.DEVNULL,
                stderr=self._greeting,
                pass_fds=[theirs.fileno()],
                env={"TF_CPP_MIN_LOG_LEVEL": _QUIET, **os.environ},
                start_new_session=True,  # the terminal's Ctrl-C is for the runner alone
            )

    def send(self, task: Task, fds: list[int]) -> None:
        """Ask for a worker."""
        payload = task.to_json().encode()
        head = len(payload).to_bytes(LENGTH_BYTES, "big")
        with contextlib.suppress(BrokenPipeError):  # seen, and told, by whoever waits for the exit
            socket.send_fds(self.control, [head], fds)
            self.control.sendall(payload)

    def last_words(self) -> str:
        """What the template wrote to standard error."""
        self._greeting.seek(0)
        return self._greeting.read().decode(errors="replace").strip()

    def close(self) -> None:
        """End the process; its workers end with their channels."""
        self.control.close()
        try:
            self.process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._greeting.close()


class _Worker:
    """A worker process, seen from the runner."""

    def __init__(self, template: _Template, task: Task) -> None:
        self._template = template
        self._channel, theirs = socket.socketpair()
        self._exit_read, exit_write = os.pipe()
        try:
            template.send(task, [theirs.fileno(), exit_write, 1, 2])
        finally:
            theirs.close()
            os.close(exit_write)
        self._received = b""
        self._exit = b""

    def __enter__(self) -> "_Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()
        os.close(self._exit_read)

    def outcome(self) -> Outcome:
        """Wait until the process has ended; say how."""
        self._wait_for_exit(None)
        if self._received:
            return Outcome.from_json(self._received.decode())
        return Outcome(failure=self._death())

    def stop(self) -> None:
        """End the process and what it started: politely, then not."""
        self._read_exit(0.5)
        if not self._exit:
            return
        group = int(self._exit.split()[0])
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)
            if self._wait_for_exit(_GRACE_SECONDS):
                return

    def _wait_for_exit(self, seconds: float | None) -> bool:
        """Read both ends until the exit pipe closes; False when `seconds` have passed before."""
        deadline = None if seconds is None else time.monotonic() + seconds
        open_ends: list[int] = [self._channel.fileno(), self._exit_read]
        while self._exit_read in open_ends:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select(open_ends, [], [], left)
            if not ready:
                return False
            if self._channel.fileno() in ready:
                part = self._channel.recv(1 << 20)
                self._received += part
                if not part:
                    open_ends.remove(self._channel.fileno())
            if self._exit_read in ready and not self._read_exit(0):
                open_ends.remove(self._exit_read)
        self._channel.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while part := self._channel.recv(1 << 20):
                self._received += part
        return True

    def _read_exit(self, seconds: float) -> bool:
        """Read what the exit pipe has; False at its end."""
        ready, _, _ = select.select([self._exit_read], [], [], seconds)
        part = os.read(self._exit_read, 4096) if ready else b""
        self._exit += part
        return bool(part)

    def _death(self) -> Failure:
        """Why there is no outcome: the worker was killed, or the template never came up."""
        words = self._exit.decode().split()
        if not words:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._template.process.wait(_GRACE_SECONDS)
            return Failure(
                kind="WorkerLost",
                message="The process that starts the workers ended by itself.",
                traceback=self._template.last_words(),
            )
        code = int(words[1]) if len(words) > 1 else self._template.process.wait(_GRACE_SECONDS)
        if code < 0:
            name = signal.Signals(-code).name
            more = " The system may have run out of memory." if code == -signal.SIGKILL else ""
            message = f"The worker process was killed by {name}.{more}"
        else:
            message = f"The worker process left with exit code {code} before it was done."
        return Failure(kind="WorkerLost", message=message)
