# SPDX-License-Identifier: Apache-2.0
"""The default launcher: every task in a fresh process, forked from a server that is warm already.

runner ──control socket──▶ fork server ──fork──▶ worker
   ▲                          │                    │
   └────── exit status ◀──────┘                    │
   └────── channel: progress, the Outcome ◀────────┤
   └────── standard output and error ◀─────────────┘

A task for another interpreter, where there is no Stoker, runs in a process that starts the files of
`stoker/any_python` without this one's environment variables and paths.
"""

import contextlib
import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace

from stoker.any_python.failures import CRASH, order_crash
from stoker.any_python.launcher_link import send_request
from stoker.any_python.modules import is_installed
from stoker.any_python.own_code import HERE, PACKAGES_DIR
from stoker.dsl.executor import BaseExecutor
from stoker.launchers import Watcher
from stoker.launchers.heartbeat import WORKER_LOST
from stoker.launchers.interpreters.finding import scrub
from stoker.launchers.resources import find_free_addresses, share_resources
from stoker.launchers.step_log import StepLog
from stoker.metadata.config import STORE_VARIABLE
from stoker.metadata.masking import KnownSecrets, StreamMask, environment, find_secrets
from stoker.task import Failure, Member, Outcome, ProcessNeeds, Task, Workers
from stoker.user_code.fn_args import get_trainer_fn_args

_GRACE_SECONDS = 5.0
_SAVING_SECONDS = 30.0
"""What a worker that is to stop has for saving how far it is."""
_LOOK_SECONDS = 0.25
"""From one look whether a task is to stop to the next."""
_LISTENING_SECONDS = 1.0
"""After which it is told again."""
# TensorFlow's C++ part reports a missing GPU as an error, which it is only where there is one.
_QUIET = "2" if os.path.exists("/dev/nvidiactl") else "3"
# What the user has set wins. Without growth, the first process takes all memory of a GPU.
_DEFAULTS = {"TF_CPP_MIN_LOG_LEVEL": _QUIET, "TF_FORCE_GPU_ALLOW_GROWTH": "true"}


class Processes:
    """Runs each task in a process of its own on this machine."""

    def __init__(self, *, fork: bool = sys.platform == "linux") -> None:
        self._fork = fork
        self._fork_servers: dict[tuple[bool, int | None], _ServerProcess] = {}
        self._lock = threading.RLock()
        """Held by who looks for a fork server: tasks may be launched from several threads."""
        self._stopping = threading.Event()
        self._slots: weakref.WeakSet[_Slot] = weakref.WeakSet()

    def prepare(self, needs: Iterable[ProcessNeeds]) -> None:
        """Start one fork server per kind of process, in the background."""
        merged: dict[tuple[bool, int | None], ProcessNeeds] = {}
        for one in (step.in_this_python() for step in needs):
            known = merged.get(_kind(one), one)
            preload = tuple(dict.fromkeys([*known.preload, *one.preload]))
            merged[_kind(one)] = replace(known, preload=preload)
        with self._lock:
            for kind, one in merged.items():
                if kind not in self._fork_servers:
                    self._fork_servers[kind] = _ServerProcess(one, fork=self._fork)

    def launch(self, task: Task, watcher: Watcher) -> Outcome:
        """Run a task in fresh processes; Ctrl-C stops them and gives a canceled Outcome."""
        if task.needs_worker_group:
            from stoker.launchers.worker_group import run_worker_group  # most work alone

            return run_worker_group(task, watcher, self.reserve, self._stopping)
        slot = self._add_slot()
        ended: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        try:
            slot.start(task, watcher, ended.put)
            return self._wait(ended)
        except KeyboardInterrupt:
            with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C does not wait
                slot.stop()
            last = Outcome() if ended.empty() else ended.get()
            return Outcome(canceled=True, saved_step=last.saved_step)
        finally:
            slot.kill()

    def stop(self) -> None:
        """Stop what other threads launched, as Ctrl-C does; called again, without a delay."""
        if self._stopping.is_set():
            for slot in list(self._slots):
                slot.kill()
        self._stopping.set()

    def _wait(self, ended: "queue.SimpleQueue[Outcome]") -> Outcome:
        """The outcome; to be stopped is to be interrupted."""
        while not self._stopping.is_set():
            with contextlib.suppress(queue.Empty):
                return ended.get(timeout=_LOOK_SECONDS)
        raise KeyboardInterrupt

    def _add_slot(self, address: str = "", variables: Mapping[str, str] | None = None) -> "_Slot":
        slot = _Slot(self._worker, address=address, variables=variables)
        self._slots.add(slot)
        return slot

    def reserve(self, members: Sequence[Member], workers: Workers) -> list["_Slot"]:
        """Reserve a slot on this machine for each member of a worker group."""
        addresses = find_free_addresses(len(members), workers.host)
        return [
            self._add_slot(address, variables)
            for address, variables in zip(addresses, share_resources(members, workers), strict=True)
        ]

    @contextlib.contextmanager
    def _worker(self, task: Task, watcher: Watcher) -> Iterator["_Worker"]:
        """A worker that has been sent its request."""
        elsewhere = task.needs.python is not None
        request = _request_for_another_python(task) if elsewhere else task.to_json()
        server = _ServerProcess(task.needs) if elsewhere else self._take_fork_server(task.needs)
        try:
            secrets = _find_secrets(task)
            with _Worker(server, request, task.log_file, watcher, secrets) as worker:
                yield worker
        finally:
            if elsewhere or not self._fork:
                server.close()

    def _take_fork_server(self, needs: ProcessNeeds) -> "_ServerProcess":
        """One that is warm; where it is for a single use, the next one is started."""
        with self._lock:
            self.prepare([needs])
            kind = _kind(needs)
            server = self._fork_servers[kind]
            if not self._fork:
                self._fork_servers[kind] = _ServerProcess(server.needs)
        return server

    def close(self) -> None:
        """End every fork server."""
        for server in self._fork_servers.values():
            server.close()
        self._fork_servers.clear()
        self._stopping.clear()


class WarmProcesses(Processes):
    """Keeps its fork servers warm from one run to the next, until `end`: for notebooks."""

    _between_runs = False

    def prepare(self, needs: Iterable[ProcessNeeds]) -> None:
        """Start what is missing; the first of a run looks whether what was kept is still good."""
        if self._between_runs:
            self._between_runs = False
            for kind, server in list(self._fork_servers.items()):
                if not server.is_usable():
                    self._fork_servers.pop(kind).close()
        super().prepare(needs)

    def close(self) -> None:
        """A run is over, and its workers with it; the fork servers stay."""
        self._between_runs = True
        self._stopping.clear()

    def end(self) -> None:
        """End every fork server."""
        super().close()


def _request_for_another_python(task: Task) -> str:
    """A Task as JSON with its FnArgs; raises ValueError for inputs that make no FnArgs."""
    record = json.loads(task.to_json())
    record["import_paths"] = [path for path in task.import_paths if _is_the_users(path)]
    context = BaseExecutor.Context(tmp_dir=task.tmp_dir, unique_id=str(task.execution_id))
    fn_args = get_trainer_fn_args(
        task.inputs,
        task.outputs,
        task.parameters,
        working_dir=context.get_tmp_path(),
        checkpoint_dir=task.checkpoint_dir or None,
    )
    record["fn_args"] = dict(vars(fn_args))
    del record["fn_args"]["data_accessor"]  # functions, which are made anew there
    return json.dumps(record)


def _find_secrets(task: Task) -> KnownSecrets:
    """What a task is given, and nothing that it prints should quote."""
    return find_secrets(
        environment(), task.parameters, task.argv, task.flags or {}, task.beam_pipeline_args
    )


def _is_the_users(path: str) -> bool:
    """Whether a place to import from is the user's own, and not part of this interpreter."""
    folder = os.path.join(path, "")
    ours = folder.startswith(os.path.join(PACKAGES_DIR, ""))
    return os.path.isdir(path) and not ours and not is_installed(folder)


def _kind(needs: ProcessNeeds) -> tuple[bool, int | None]:
    return needs.tensorflow, needs.keras


class _ServerProcess:
    """A process that becomes or forks workers, seen from the runner."""

    def __init__(self, needs: ProcessNeeds, *, fork: bool = False) -> None:
        self.needs = needs
        self.control, theirs = socket.socketpair()
        # TensorFlow greets on standard error when it is imported; it is shown only on failure.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        self._surroundings = _read_surroundings()
        self._sending = threading.Lock()
        with theirs:
            if needs.python:
                command = [needs.python, os.path.join(HERE, "start.py"), str(theirs.fileno())]
                variables = scrub(_list_inherited())
            else:
                command = [
                    *(sys.executable, "-P", "-m", "stoker.launchers.start_fork_server"),
                    *(str(theirs.fileno()), json.dumps(asdict(needs))),
                    "fork" if fork else "single-use",
                ]
                variables = _list_inherited()
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stderr=self._stderr,
                pass_fds=[theirs.fileno()],
                env={**_DEFAULTS, **variables},
                start_new_session=True,  # the terminal's Ctrl-C is for the runner alone
            )

    def is_usable(self) -> bool:
        """Whether it lives, and its workers find what a new server's would."""
        return self.process.poll() is None and self._surroundings == _read_surroundings()

    def send(self, request: str, fds: list[int]) -> None:
        """Ask for a worker."""
        # A broken pipe is seen, and told, by whoever waits for the exit.
        with self._sending, contextlib.suppress(BrokenPipeError):
            send_request(self.control, request, fds)

    def last_words(self) -> str:
        """What the server wrote to standard error."""
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace").strip()

    def close(self) -> None:
        """End the process; its workers end with their channels."""
        self.control.close()
        try:
            self.process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._stderr.close()


def _read_surroundings() -> tuple[str, dict[str, str]]:
    """What a process inherits: its folder, if that is still there, and its variables."""
    folder = ""
    with contextlib.suppress(FileNotFoundError):
        folder = os.getcwd()
    return folder, _list_inherited()


def _list_inherited() -> dict[str, str]:
    """This process's variables, without the store: only the runner writes to it."""
    return {name: value for name, value in os.environ.items() if name != STORE_VARIABLE}


class _Worker:
    """A worker process, seen from the runner."""

    def __init__(
        self,
        server: _ServerProcess,
        request: str,
        log_file: str,
        watcher: Watcher,
        secrets: KnownSecrets,
    ) -> None:
        self._server = server
        self._watcher = watcher
        self._outcome: Outcome | None = None
        self.heard: Callable[[Outcome], None] | None = None
        """Called once there is an outcome; a member of a worker group stays after that."""
        self._secrets = secrets
        self._masks = {error: StreamMask(secrets) for error in (False, True)}
        self._unread: list[bytes] = []
        self._crash = b""
        """The stack that it left when a signal killed it, which is told with the failure."""
        self._exit = b""
        self._channel, theirs = socket.socketpair()
        exit_read, exit_write = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        self._exit_read = exit_read
        self._read: dict[int, Callable[[bytes], None]] = {
            self._channel.fileno(): self._hear,
            exit_read: self._note_exit,
            out_read: lambda data: self._show(self._masks[False].feed(data), error=False),
            err_read: lambda data: self._show(self._masks[True].feed(data), error=True),
        }
        self._log = StepLog(log_file, watcher)
        if server.needs.tensorflow:
            self._watcher.event({"kind": "progress", "doing": "importing TensorFlow"})
        try:
            server.send(request, [theirs.fileno(), exit_write, out_write, err_write])
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
        """Read from all ends until the process has ended; say how it did."""
        while self._exit_read in self._read:
            self._read_ready(None)
            if self._outcome and self.heard:
                self._read_ready(0)  # what it printed before: some listen no longer than to this
                self.heard(self._outcome)
                self.heard = None
        # The process is gone; what it wrote last may still be on its way to us.
        while self._read_ready(0):
            pass
        for error, mask in self._masks.items():
            self._show(mask.end(), error=error)
        if not self._outcome:
            return Outcome(failure=self._explain_death())
        self._watcher.output(self._crash, error=True)  # of a process that it had started itself
        return self._outcome

    def kill(self) -> None:
        """End the process and what it started; one that is not there yet ends when it starts."""
        with contextlib.suppress(OSError):  # it has ended already
            self._channel.shutdown(socket.SHUT_RDWR)
        if pid := self.pid:  # asked once: a thread of its own notes that it has ended
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    @property
    def pid(self) -> int | None:
        """The process, which leads a group of its own; None before its start and after its end."""
        return self.was if len(self._exit.split()) == 1 else None

    @property
    def was(self) -> int | None:
        """The process, also after its end; None before its start."""
        words = self._exit.split()
        return int(words[0]) if words else None

    def _read_ready(self, seconds: float | None) -> bool:
        """Read from the ends that have something within `seconds`; whether there was one."""
        ready, _, _ = select.select(list(self._read), [], [], seconds)
        for fd in ready:
            if data := os.read(fd, 1 << 18):
                self._read[fd](data)
            else:
                del self._read[fd]
                if fd != self._channel.fileno():
                    os.close(fd)
        return bool(ready)

    def _hear(self, data: bytes) -> None:
        self._unread.append(data)
        if b"\n" not in data:  # of a message that is long, one copy is made, when all is there
            return
        *lines, rest = b"".join(self._unread).split(b"\n")
        self._unread = [rest]
        for message in map(json.loads, lines):
            if "outcome" in message:
                self._outcome = Outcome.from_json(message["outcome"])
            else:
                event = message["event"]
                if "text" in event:
                    event["text"] = self._secrets.mask(event["text"])
                self._log.write_event(event)
                self._watcher.event(event)

    def _note_exit(self, data: bytes) -> None:
        if not self._exit:  # it has started: what it does is now its own to say
            self._watcher.event({"kind": "progress", "doing": ""})
        self._exit += data

    def _show(self, data: bytes, *, error: bool) -> None:
        if not data:
            return
        self._log.write(data)
        if error:
            start = 0 if self._crash else data.find(CRASH)
            if start >= 0:
                self._crash += data[start:]
                data = data[:start]
        self._watcher.output(data, error=error)

    def _explain_death(self) -> Failure:
        """Why there is no outcome: the worker was killed, or the fork server never came up."""
        words = self._exit.decode().split()
        if not words:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.process.wait(_GRACE_SECONDS)
            return Failure(
                kind=WORKER_LOST,
                message="The process that starts the workers ended by itself.",
                traceback=self._server.last_words(),
            )
        code = int(words[1]) if len(words) > 1 else self._server.process.wait(_GRACE_SECONDS)
        if code < 0:
            name = signal.Signals(-code).name
            more = " The system may have run out of memory." if code == -signal.SIGKILL else ""
            message = f"The worker process was killed by {name}.{more}"
        else:
            message = f"The worker process left with exit code {code} before it was done."
        stack = order_crash(self._crash.decode(errors="replace"))
        return Failure(kind=WORKER_LOST, message=message, traceback=stack)


class _Slot:
    """Where one member of a worker group runs on this machine."""

    def __init__(
        self,
        start: Callable[[Task, Watcher], AbstractContextManager[_Worker]],
        *,
        address: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.address = address
        self.variables = variables or {}
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
        try:
            self._worker = stack.enter_context(self._start(task, watcher))
        except ValueError as error:  # the inputs make no FnArgs, which a worker here would say
            done(Outcome(failure=Failure(kind="ValueError", message=str(error))))
            return
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
        pid = self._worker and self._worker.pid
        if self._thread and pid:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGTERM)
                self._thread.join(_LISTENING_SECONDS)
                if self._thread.is_alive():
                    # Python does not hear a signal that comes just before it begins to sleep.
                    os.kill(pid, signal.SIGTERM)
                    self._thread.join(_SAVING_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the process and what it started."""
        until = time.monotonic() + _GRACE_SECONDS
        while self._thread and self._thread.is_alive() and time.monotonic() < until:
            assert self._worker
            self._worker.kill()
            self._thread.join(0.1)
