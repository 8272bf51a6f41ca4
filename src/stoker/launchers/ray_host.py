# SPDX-License-Identifier: Apache-2.0
"""What runs on a node of Ray: an actor that starts workers there, as `processes` does at home.

`on_ray` asks it to start a task, and then again and again what there is to tell. Workers end with
their host, and a host ends with the runner.
"""

import contextlib
import os
import queue
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stoker.any_python.forking import num_cpus
from stoker.launchers.processes import Processes
from stoker.launchers.ray_session import load_ray
from stoker.launchers.resources import hold_free_port
from stoker.launchers.shipping import Shipment, unpack
from stoker.launchers.visiting import Visit
from stoker.storage.root import CACHE_DIR
from stoker.task import Member, Outcome, ProcessNeeds, Task, Workers

Message = tuple[str, Any]
"""("output" | "error", bytes), ("event", dict), ("outcome", JSON), ("file", a part of one that the
task has written), ("seen", (processor seconds, where)), or ("ended", None)."""

_LISTEN_SECONDS = 0.5
_MOST_CHUNKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOffer:
    """What a host has to offer to its next task."""

    node: str
    """The address of its node."""
    num_cpus: int
    """The processors of the whole node."""
    gpus: list[str]
    """The GPUs that Ray has given to this host alone."""
    address: str
    """`host:port`, held until the task starts."""


class Host:
    """An actor on one node, which runs one task at a time in a process of its own."""

    def __init__(self, folder: str, variables: Mapping[str, str]) -> None:
        """`folder` and `variables` are the runner's, where they mean something here."""
        with contextlib.suppress(OSError):
            os.chdir(folder)
        own = CACHE_DIR if CACHE_DIR in os.environ else ""
        os.environ.update({name: one for name, one in variables.items() if name != own})
        self._node: str = load_ray().util.get_node_ip_address()
        self._launcher = Processes()
        self._slot = self._new_slot()
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._port: socket.socket | None = None
        self._preparing = threading.Lock()  # Ray calls from several threads

    def offer(self) -> HostOffer:
        """Say what is here for the next task."""
        self._release_port()
        self._port = hold_free_port(self._node)
        return HostOffer(
            node=self._node,
            num_cpus=num_cpus(),
            gpus=[str(one) for one in load_ray().get_gpu_ids()],
            address="{}:{}".format(*self._port.getsockname()),
        )

    def prepare(self, needs: list[ProcessNeeds]) -> None:
        """Have TensorFlow imported before it is needed."""
        with self._preparing:
            self._launcher.prepare(needs)

    def start(self, task_json: str, code: Shipment, written: Shipment) -> None:
        """Start a task in a process of its own; what it is to go on with is `written` already."""
        task = Task.from_json(task_json)
        visit = Visit.arrive(task, written) if task.away else None
        task = visit.task if visit else task
        folder = os.path.join(task.tmp_dir, f"code-{socket.gethostname()}-{os.getpid()}")
        task = unpack(task, code, folder)
        messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._messages = messages
        self._slot = self._new_slot()
        self._release_port()

        def done(outcome: Outcome) -> None:
            for chunk in visit.leave() if visit else ():
                while messages.qsize() > _MOST_CHUNKS:  # home is slower than this disk
                    time.sleep(0.05)
                messages.put(("file", chunk))
            text = visit.tell(outcome) if visit else outcome.to_json()
            messages.put(("outcome", text))

        with self._preparing:
            self._slot.start(task, _Recorder(messages), done)

    def listen(self) -> list[Message]:
        """What has happened since the last time, after a moment in which nothing did."""
        found: list[Message] = []
        with contextlib.suppress(queue.Empty):
            found.append(self._messages.get(timeout=_LISTEN_SECONDS))
            while True:
                found.append(self._messages.get_nowait())
        used = self._slot.cpu_seconds()
        where = self._slot.where.replace("this machine", f"node {self._node}")
        return [*found, ("seen", (used, where))]

    def stop(self) -> None:
        """End the task's process, politely at first."""
        self._slot.stop()

    def kill(self) -> None:
        """End the task's process, and tell that nothing more will come."""
        self._slot.kill()
        self._messages.put(("ended", None))

    def close(self) -> None:
        """Leave no process behind."""
        self._slot.kill()
        self._launcher.close()

    def _new_slot(self) -> Any:
        (slot,) = self._launcher.reserve([Member(role="chief")], Workers())
        return slot

    def _release_port(self) -> None:
        if self._port:
            self._port.close()
            self._port = None


class _Recorder:
    """Keeps what a worker prints and reports until the runner asks for it."""

    def __init__(self, messages: queue.SimpleQueue[Message]) -> None:
        self._messages = messages

    def output(self, data: bytes, *, error: bool) -> None:
        self._messages.put(("error" if error else "output", data))

    def event(self, record: dict[str, Any]) -> None:
        self._messages.put(("event", record))
