# SPDX-License-Identifier: Apache-2.0
"""The default launcher: every task in a fresh process, forked from a template that is warm already.

    runner ──control socket──▶ template ──fork──▶ worker
       ▲                          │                 │
       └────── exit status ◀──────┘                 │
       └────── channel: progress, the Outcome ◀─────┤
       └────── standard output and error ◀──────────┘

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
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace

from stoker.launchers import Watcher
from stoker.launchers.gang import LOST, is_for_gang, run_gang
from stoker.launchers.guests import guest_command, guest_request
from stoker.launchers.interpreters import scrubbed
from stoker.launchers.shares import free_addresses, shares
from stoker.launchers.template import LENGTH_BYTES
from stoker.task import Failure, Member, Outcome, ProcessNeeds, Task, Workers

__all__ = ["Processes", "WarmProcesses"]

_GRACE_SECONDS = 5.0
_SAVING_SECONDS = 30.0
"""What a worker that is to stop has for saving how far it is."""
# TensorFlow's C++ part reports a missing GPU as an error, which it is only where there is one.
_QUIET = "2" if os.path.exists("/dev/nvidiactl") else "3"
# What the user has set wins. Without growth, the first process takes all memory of a GPU.
_DEFAULTS = {"TF_CPP_MIN_LOG_LEVEL": _QUIET, "TF_FORCE_GPU_ALLOW_GROWTH": "true"}


class Processes:
    """Runs each task in a process of its own on this machine."""

    def __init__(self, *, fork: bool = sys.platform == "linux") -> None:
        self._fork = fork
        self._templates: dict[tuple[bool, int | None], _Template] = {}

    def prepare(self, needs: Iterable[ProcessNeeds]) -> None:
        """Start one template per kind of process, in the background."""
        merged: dict[tuple[bool, int | None], ProcessNeeds] = {}
        for one in (step.at_home() for step in needs):
            known = merged.get(_kind(one), one)
            preload = tuple(dict.fromkeys([*known.preload, *one.preload]))
            merged[_kind(one)] = replace(known, preload=preload)
        for kind, one in merged.items():
            if kind not in self._templates:
                self._templates[kind] = _Template(one, fork=self._fork)

    def launch(self, task: Task, watcher: Watcher) -> Outcome:
        """Run a task in fresh processes; Ctrl-C stops them and gives a canceled Outcome."""
        try:
            request = _request(task)
        except ValueError as error:  # the inputs make no FnArgs, which a worker at home would say
            return Outcome(failure=Failure(kind="ValueError", message=str(error)))
        if is_for_gang(task):
            return run_gang(task, watcher, self)
        with self._worker(task, request, watcher) as worker:
            try:
                return worker.outcome()
            except KeyboardInterrupt:
                worker.stop()
                return Outcome(canceled=True)

    def seats(self, members: Sequence[Member], workers: Workers) -> list["_Seat"]:
        """Seats for the members of a gang, all on this machine."""
        found = zip(free_addresses(len(members)), shares(members, workers), strict=True)
        return [_Seat(self._worker, address, variables) for address, variables in found]

    @contextlib.contextmanager
    def _worker(self, task: Task, request: str, watcher: Watcher) -> Iterator["_Worker"]:
        """A worker that has been sent its request."""
        guest = task.needs.python is not None
        template = _Template(task.needs) if guest else self._take_template(task.needs)
        try:
            with _Worker(template, request, task.log_file, watcher) as worker:
                yield worker
        finally:
            if guest or not self._fork:
                template.close()

    def _take_template(self, needs: ProcessNeeds) -> "_Template":
        """One that is warm; where it is for a single use, the next one is started."""
        self.prepare([needs])
        kind = _kind(needs)
        template = self._templates[kind]
        if not self._fork:
            self._templates[kind] = _Template(template.needs)
        return template

    def close(self) -> None:
        """End every template."""
        for template in self._templates.values():
            template.close()
        self._templates.clear()


class WarmProcesses(Processes):
    """Keeps its templates warm from one run to the next, until `end`: for notebooks."""

    _between_runs = False

    def prepare(self, needs: Iterable[ProcessNeeds]) -> None:
        """Start what is missing; the first of a run looks whether what was kept is still good."""
        if self._between_runs:
            self._between_runs = False
            for kind, template in list(self._templates.items()):
                if not template.is_usable():
                    self._templates.pop(kind).close()
        super().prepare(needs)

    def close(self) -> None:
        """A run is over, and its workers with it; the templates stay."""
        self._between_runs = True

    def end(self) -> None:
        """End every template."""
        super().close()


def _template_command(needs: ProcessNeeds, control_fd: int, *, fork: bool) -> list[str]:
    """What to run to have a template wait for requests."""
    return [
        *(sys.executable, "-P", "-m", "stoker.launchers.template"),
        *(str(control_fd), json.dumps(asdict(needs))),
        "fork" if fork else "single-use",
    ]


def _request(task: Task) -> str:
    return guest_request(task) if task.needs.python else task.to_json()


def _kind(needs: ProcessNeeds) -> tuple[bool, int | None]:
    return needs.tensorflow, needs.keras


class _Template:
    """A process that becomes or forks workers, seen from the runner."""

    def __init__(self, needs: ProcessNeeds, *, fork: bool = False) -> None:
        self.needs = needs
        self.control, theirs = socket.socketpair()
        # TensorFlow greets on standard error when it is imported; it is shown only on failure.
        self._greeting = tempfile.TemporaryFile()  # noqa: SIM115
        self._surroundings = _surroundings()
        with theirs:
            if needs.python:
                command = guest_command(needs.python, theirs.fileno())
                variables = scrubbed(os.environ)
            else:
                command = _template_command(needs, theirs.fileno(), fork=fork)
                variables = dict(os.environ)
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stderr=self._greeting,
                pass_fds=[theirs.fileno()],
                env={**_DEFAULTS, **variables},
                start_new_session=True,  # the terminal's Ctrl-C is for the runner alone
            )

    def is_usable(self) -> bool:
        """Whether it lives, and its workers find what a new template's would."""
        return self.process.poll() is None and self._surroundings == _surroundings()

    def send(self, request: str, fds: list[int]) -> None:
        """Ask for a worker."""
        payload = request.encode()
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


def _surroundings() -> tuple[str, dict[str, str]]:
    """What a process inherits: its folder and its variables."""
    return os.getcwd(), dict(os.environ)


class _Worker:
    """A worker process, seen from the runner."""

    def __init__(self, template: _Template, request: str, log_file: str, watcher: Watcher) -> None:
        self._template = template
        self._watcher = watcher
        self._outcome: Outcome | None = None
        self.heard: Callable[[Outcome], None] = lambda _: None
        """Called as soon as there is an outcome; a member of a gang stays after that."""
        self._unread = b""
        self._exit = b""
        self._channel, theirs = socket.socketpair()
        exit_read, exit_write = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        self._exit_read = exit_read
        self._read: dict[int, Callable[[bytes], None]] = {
            self._channel.fileno(): self._hear,
            exit_read: self._note_exit,
            out_read: lambda data: self._show(data, error=False),
            err_read: lambda data: self._show(data, error=True),
        }
        os.makedirs(os.path.dirname(log_file), exist_ok=True)
        self._log = open(log_file, "ab", buffering=0)  # noqa: SIM115
        try:
            template.send(request, [theirs.fileno(), exit_write, out_write, err_write])
        finally:
            theirs.close()
            for fd in (exit_write, out_write, err_write):
                os.close(fd)

    def __enter__(self) -> "_Worker":
        return self

    def __exit__(self, *_: object) -> None:
        channel = self._channel.detach()
        for fd in {channel, *self._read}:
            os.close(fd)
        self._log.close()

    def outcome(self) -> Outcome:
        """Wait until the process has ended; say how."""
        self._wait_for_exit(None)
        return self._outcome or Outcome(failure=self._death())

    def stop(self) -> None:
        """End the process and what it started: politely, then not."""
        while not self._exit:  # the template has not said yet which process it is
            if not select.select([self._exit_read], [], [], _GRACE_SECONDS)[0]:
                return
            self._read_from(self._exit_read)
        group = int(self._exit.split()[0])
        for number, seconds in ((signal.SIGTERM, _SAVING_SECONDS), (signal.SIGKILL, None)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)
            with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C does not wait
                if self._wait_for_exit(seconds):
                    return

    def kill(self) -> None:
        """End the process and what it started; one that is not there yet ends when it starts."""
        with contextlib.suppress(OSError):  # it has ended already
            self._channel.shutdown(socket.SHUT_RDWR)
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    @property
    def pid(self) -> int | None:
        """The process, which leads a group of its own; None before its start and after its end."""
        return self.was if len(self._exit.split()) == 1 else None

    @property
    def was(self) -> int | None:
        """The same, and after its end as well."""
        words = self._exit.split()
        return int(words[0]) if words else None

    def _wait_for_exit(self, seconds: float | None) -> bool:
        """Read from all ends until the exit pipe closes; False when `seconds` have passed."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while self._exit_read in self._read:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select(list(self._read), [], [], left)
            if not ready:
                return False
            for fd in ready:
                self._read_from(fd)
        # The process is gone; what it wrote last may still be on its way to us.
        while ready := select.select(list(self._read), [], [], 0)[0]:
            for fd in ready:
                self._read_from(fd)
        return True

    def _read_from(self, fd: int) -> None:
        if data := os.read(fd, 1 << 18):
            self._read[fd](data)
        else:
            del self._read[fd]
            if fd != self._channel.fileno():
                os.close(fd)

    def _hear(self, data: bytes) -> None:
        *lines, self._unread = (self._unread + data).split(b"\n")
        for message in map(json.loads, lines):
            if "outcome" in message:
                self._outcome = Outcome.from_json(message["outcome"])
                self.heard(self._outcome)
            else:
                self._watcher.event(message["event"])

    def _note_exit(self, data: bytes) -> None:
        self._exit += data

    def _show(self, data: bytes, *, error: bool) -> None:
        self._log.write(data)
        self._watcher.output(data, error=error)

    def _death(self) -> Failure:
        """Why there is no outcome: the worker was killed, or the template never came up."""
        words = self._exit.decode().split()
        if not words:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._template.process.wait(_GRACE_SECONDS)
            return Failure(
                kind=LOST,
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
        return Failure(kind=LOST, message=message)


class _Seat:
    """A place for one member of a gang on this machine."""

    def __init__(
        self,
        start: Callable[[Task, str, Watcher], AbstractContextManager[_Worker]],
        address: str,
        variables: Mapping[str, str],
    ) -> None:
        self.address = address
        self.variables = variables
        self._start = start
        self._worker: _Worker | None = None
        self._thread: threading.Thread | None = None

    @property
    def where(self) -> str:
        """The process, for people."""
        number = self._worker and self._worker.was
        return f"process {number} on this machine" if number else "not started"

    def start(self, task: Task, watcher: Watcher, done: Callable[[Outcome], None]) -> None:
        """Start the process, and follow it in a thread."""
        stack = contextlib.ExitStack()
        self._worker = stack.enter_context(self._start(task, _request(task), watcher))
        self._worker.heard = done
        self._thread = threading.Thread(target=self._follow, args=(stack, done), daemon=True)
        self._thread.start()

    def _follow(self, stack: contextlib.ExitStack, done: Callable[[Outcome], None]) -> None:
        assert self._worker
        with stack:
            done(self._worker.outcome())

    def cpu_seconds(self) -> float | None:
        """What the system says of the process; None before its start and where it does not say."""
        pid = self._worker and self._worker.pid
        if not pid:
            return None
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End the process and what it started: politely, then not."""
        if self._worker and self._worker.pid:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._worker.pid, signal.SIGTERM)
            self._wait(_SAVING_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the process and what it started."""
        until = time.monotonic() + _GRACE_SECONDS
        while self._worker and self._is_running() and time.monotonic() < until:
            self._worker.kill()
            self._wait(0.1)

    def _wait(self, seconds: float) -> None:
        if self._thread:
            self._thread.join(seconds)

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()
