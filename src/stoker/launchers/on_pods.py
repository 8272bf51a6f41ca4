# SPDX-License-Identifier: Apache-2.0
"""The launcher inside of Kubernetes: a worker group has a pod for each of its members.

    run_worker_group ──a pod per member──▶ pod_host.py ──as `processes` does──▶ worker
       ▲                                        │
       └──── files on a volume that all share ◀─┘

The pods are of the step's own image, and have its volumes and variables. What one process does
alone is done in the step's own pod.
"""

import base64
import contextlib
import functools
import json
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import BinaryIO

from stoker.artifacts import every
from stoker.errors import StepFailed
from stoker.launchers import Watcher
from stoker.launchers.heartbeat import WORKER_LOST
from stoker.launchers.pod_host import MESSAGES, OFFER, POD_IP, STOP, TASK, write_record
from stoker.launchers.pods import (
    ENDED,
    Cluster,
    Record,
    Refused,
    find_main,
    make_manifest,
    read_own_pod,
    refuse_hopeless,
    refuse_unshared,
)
from stoker.launchers.processes import Processes
from stoker.launchers.resources import share_node
from stoker.launchers.worker_group import run_worker_group
from stoker.storage.root import output_dir
from stoker.task import Failure, Member, Outcome, ProcessNeeds, Task, Workers

_LOOK_SECONDS = 0.2
_ASK_SECONDS = 5.0
_SAVING_SECONDS = 45.0


class OnPods:
    """Runs the workers of a Trainer in pods beside this one.

    Pods that have no room are waited for `wait_seconds`.
    """

    def __init__(self, *, wait_seconds: float = 600.0) -> None:
        cluster = Cluster.here()
        if cluster is None:
            raise StepFailed(
                "--on pods is for steps that run in a pod of Kubernetes, and this is none. Leave "
                "it out: then the workers run on this machine."
            )
        self._cluster = cluster
        self._wait_seconds = wait_seconds
        self._here = Processes()

    def prepare(self, needs: Iterable[ProcessNeeds]) -> None:
        """Warm up this pod, in which all that is done alone is done."""
        self._here.prepare(needs)

    def launch(self, task: Task, watcher: Watcher) -> Outcome:
        """Run a task here, or its workers in pods; Ctrl-C gives a canceled Outcome."""
        if not task.has_workers:
            return self._here.launch(task, watcher)
        return run_worker_group(task, watcher, functools.partial(self._reserve, task))

    def close(self) -> None:
        """End what runs in this pod."""
        self._here.close()

    def _reserve(self, task: Task, members: Sequence[Member], workers: Workers) -> list["_Slot"]:
        """A pod for each member, as soon as all are up."""
        own = read_own_pod(self._cluster)
        slots: list[_Slot] = []
        try:
            for member in members:
                folder = os.path.join(task.tmp_dir, f"pod-{secrets.token_hex(4)}")
                os.makedirs(folder, mode=0o700)  # a task may have secrets
                manifest = make_worker_manifest(own, folder, member, workers)
                seen = [one.uri for one in (*every(task.inputs), *every(task.outputs))]
                refuse_unshared(manifest, [folder, *map(output_dir, seen)])
                slots.append(_Slot(self._cluster, manifest, folder))
            self._wait_for_offers(slots, workers)
        except BaseException:
            for slot in slots:
                slot.kill()
            raise
        return slots

    def _wait_for_offers(self, slots: Sequence["_Slot"], workers: Workers) -> None:
        until = time.monotonic() + self._wait_seconds
        for slot in slots:
            while not slot.take_offer(workers):
                if time.monotonic() > until:
                    raise StepFailed(
                        f"{len(slots)} pods had no room within {self._wait_seconds:.0f} s. Ask for "
                        "less with Workers(cpus_each=…, gpus_each=…), or for fewer workers."
                    )
                slot.refuse_if_lost()
                time.sleep(_LOOK_SECONDS)


def make_worker_manifest(own: Record, folder: str, member: Member, workers: Workers) -> Record:
    """The pod of one member of a group: this pod's image and variables, with what it may use."""
    main = find_main(own["spec"]["containers"])
    words = [sys.executable, "-m", "stoker.launchers.pod_host", folder]
    manifest = make_manifest(own, image=main["image"], command=words, args=())
    (container,) = manifest["spec"]["containers"]
    address = {"name": POD_IP, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    container["env"] = [*main.get("env", ()), address]
    container["workingDir"] = os.getcwd()
    if "envFrom" in main:
        container["envFrom"] = main["envFrom"]
    gpus = workers.gpus_each if member.role in ("chief", "worker") else 0
    asked = {"cpu": workers.cpus_each, "nvidia.com/gpu": gpus}
    if limits := {name: str(number) for name, number in asked.items() if number}:
        container["resources"] = {"limits": limits}
    return manifest


class _Slot:
    """One member's pod, for one attempt."""

    def __init__(self, cluster: Cluster, manifest: Record, folder: str) -> None:
        self.address = ""
        self.variables: dict[str, str] = {}
        self._cluster = cluster
        self._folder = folder
        self._name = cluster.ask("POST", body=manifest)["metadata"]["name"]
        self._is_there = True
        self._used: float | None = None
        self._thread: threading.Thread | None = None
        self._is_killed = threading.Event()

    @property
    def where(self) -> str:
        """The pod, for messages."""
        return f"pod {self._name}"

    def take_offer(self, workers: Workers) -> bool:
        """Take where the pod can be reached, if it has told that already."""
        try:
            with open(os.path.join(self._folder, OFFER), encoding="utf-8") as file:
                offer = json.load(file)
        except FileNotFoundError:
            return False
        self.address = offer["address"]
        gpus = [str(number) for number in range(workers.gpus_each)]
        self.variables = share_node(workers, offer["num_cpus"], gpus)
        return True

    def refuse_if_lost(self) -> None:
        """Raise if the pod cannot come up any more."""
        status = self._cluster.ask("GET", self._name)["status"]
        refuse_hopeless(status)
        if status.get("phase") in ENDED:
            raise Refused(f"the pod {self._name} of a worker ended before it was asked to work.")

    def start(self, task: Task, watcher: Watcher, done: Callable[[Outcome], None]) -> None:
        """Hand the task over, and follow it in a thread."""
        write_record(os.path.join(self._folder, TASK), json.loads(task.to_json()))
        self._thread = threading.Thread(target=self._follow, args=(watcher, done), daemon=True)
        self._thread.start()

    def cpu_seconds(self) -> float | None:
        """What the pod has told last."""
        return self._used

    def stop(self) -> None:
        """End the task politely, then the pod."""
        write_record(os.path.join(self._folder, STOP), {})
        if self._thread:
            self._thread.join(_SAVING_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Remove the pod."""
        self._is_killed.set()
        if self._is_there:
            self._is_there = False
            self._cluster.remove(self._name)
        if self._thread:
            self._thread.join(_ASK_SECONDS)

    def _follow(self, watcher: Watcher, done: Callable[[Outcome], None]) -> None:
        """Pass on what the pod tells until its Outcome, or until it is gone."""
        path, asked = os.path.join(self._folder, MESSAGES), time.monotonic()
        with contextlib.ExitStack() as closing:
            file: BinaryIO | None = None
            while not self._is_killed.wait(_LOOK_SECONDS):
                lost = ""
                if time.monotonic() > asked + _ASK_SECONDS:
                    lost, asked = self._find_loss(), time.monotonic()
                if file is None and os.path.exists(path):
                    file = closing.enter_context(open(path, "rb"))
                if file and self._pass_on(file, watcher, done):
                    return
                if lost:
                    done(Outcome(failure=Failure(kind=WORKER_LOST, message=lost)))
                    return

    def _pass_on(self, file: BinaryIO, watcher: Watcher, done: Callable[[Outcome], None]) -> bool:
        """Read whole lines that have come; whether the Outcome was among them."""
        while (line := file.readline()).endswith(b"\n"):
            match json.loads(line):
                case ["output" | "error" as stream, data]:
                    watcher.output(base64.b64decode(data), error=stream == "error")
                case ["event", record]:
                    watcher.event(record)
                case ["seen", used]:
                    self._used = used
                case ["outcome", text]:
                    done(Outcome.from_json(text))
                    return True
        file.seek(-len(line), os.SEEK_CUR)
        return False

    def _find_loss(self) -> str:
        """Why the pod is no more, if so."""
        try:
            status = self._cluster.ask("GET", self._name)["status"]
        except Refused as refused:
            return f"Kubernetes does not tell of it: {refused}"
        if status.get("phase") not in ENDED:
            return ""
        return f"its pod {self._name} ended: {status.get('reason', status['phase'])}"
