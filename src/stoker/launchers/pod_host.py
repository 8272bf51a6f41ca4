# SPDX-License-Identifier: Apache-2.0
"""What runs in a pod of a worker group: one task, in a process of its own, told of by files.

python -m stoker.launchers.pod_host FOLDER

FOLDER is on a volume that this pod shares with the step's own (`on_pods.py`, which reads and writes
the other side):

    offer.json      where this pod can be reached, as soon as it is up
    task.json       the Task, as soon as all pods are
    messages        what there is to tell, a line of JSON each; the Outcome is the last
    stop            ends the task, politely
"""

import base64
import json
import os
import queue
import sys
import threading
import time
from typing import Any, BinaryIO

from stoker.any_python.forking import num_cpus
from stoker.launchers.processes import Processes
from stoker.launchers.resources import hold_free_port
from stoker.storage.files import write_whole
from stoker.task import Member, Outcome, Task, Workers

POD_IP = "STOKER_POD_IP"
OFFER, TASK, MESSAGES, STOP = "offer.json", "task.json", "messages", "stop"
_LOOK_SECONDS = 0.1
_SEEN_SECONDS = 0.5


class _Writer:
    """Writes what a worker prints and reports, a line each, for the step's pod to read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lock = threading.Lock()

    def write(self, kind: str, value: Any) -> None:
        with self._lock:
            self._file.write(json.dumps([kind, value]).encode() + b"\n")
            self._file.flush()

    def output(self, data: bytes, *, error: bool) -> None:
        self.write("error" if error else "output", base64.b64encode(data).decode())

    def event(self, record: dict[str, Any]) -> None:
        self.write("event", record)


def serve(folder: str) -> None:
    """Offer this pod, wait for its task, and run it to its end."""
    port = hold_free_port(os.environ[POD_IP])
    address = "{}:{}".format(*port.getsockname())
    write_record(os.path.join(folder, OFFER), {"address": address, "num_cpus": num_cpus()})
    while not os.path.exists(os.path.join(folder, TASK)):
        if os.path.exists(os.path.join(folder, STOP)):
            return
        time.sleep(_LOOK_SECONDS)
    with open(os.path.join(folder, TASK), encoding="utf-8") as file:
        task = Task.from_json(file.read())
    port.close()
    with open(os.path.join(folder, MESSAGES), "ab") as out:
        _run(task, _Writer(out), os.path.join(folder, STOP))


def _run(task: Task, writer: _Writer, stop_file: str) -> None:
    launcher = Processes()
    (slot,) = launcher.reserve([Member(role="chief")], Workers())
    ended: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    stopping: threading.Thread | None = None
    try:
        slot.start(task, writer, ended.put)
        while True:
            try:
                writer.write("outcome", ended.get(timeout=_SEEN_SECONDS).to_json())
                return
            except queue.Empty:
                writer.write("seen", slot.cpu_seconds())
            if os.path.exists(stop_file) and not stopping:
                stopping = threading.Thread(target=slot.stop, daemon=True)
                stopping.start()
    finally:
        slot.kill()
        launcher.close()


def write_record(path: str, record: Any) -> None:
    """Write JSON that others may read at any time."""
    with write_whole(path) as file:
        file.write(json.dumps(record).encode())


if __name__ == "__main__":
    serve(sys.argv[1])
