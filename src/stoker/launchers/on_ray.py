# SPDX-License-Identifier: Apache-2.0
"""The launcher for many machines: tasks run on the nodes of a Ray cluster, groups across them.

    runner ──a placement group, an actor per member──▶ Host ──as `processes` does──▶ worker
       ▲                                                │
       └──────── what there is to tell, when asked ◀────┘

Hosts stay for the next task as long as it needs no others, so that TensorFlow is imported once on
each. A host that is lost takes the whole placement with it; the next one is on nodes that are left.
A step works on its shards on all nodes: its process is one more driver of the cluster (`ray_pool`).
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from stoker.errors import StepFailed
from stoker.launchers import Watcher
from stoker.launchers.heartbeat import WORKER_LOST
from stoker.launchers.ray_host import Host, HostOffer, Message
from stoker.launchers.ray_session import connect, list_nodes, list_variables, load_ray
from stoker.launchers.resources import share_node
from stoker.launchers.shipping import Shipment, pack
from stoker.launchers.visiting import read_written, write_chunk
from stoker.launchers.worker_group import run_worker_group
from stoker.task import Failure, Member, Outcome, ProcessNeeds, Task, Workers

Bundle = dict[str, float]
"""What Ray reserves for one member, by the names that Ray gives to it."""

_ANSWER_SECONDS = 10.0
_AGAIN_SECONDS = 1.0
_SAVING_SECONDS = 45.0
_NUM_CALLS = 4  # of a host, at the same time: one that listens, one that ends it, and room


class OnRay:
    """Runs each task on a node of a Ray cluster, and the workers of a Trainer on several.

    `address` is that of a cluster; without one, and without RAY_ADDRESS, Ray is started on this
    machine and stopped at the end of the run. A task waits `wait_seconds` for room on the cluster.
    """

    def __init__(self, address: str | None = None, *, wait_seconds: float = 300.0) -> None:
        load_ray()  # whoever has it not is told now
        self._address = address
        self._wait_seconds = wait_seconds
        self._connection: contextlib.ExitStack | None = None
        self._placement: _Reservation | None = None

    stages_inputs = True
    """Nodes stage for themselves what is in a bucket."""

    def prepare(self, needs: Iterable[ProcessNeeds]) -> None:
        """Connect, and have one host import what the tasks will need."""
        placement = self._placement_for([Member(role="chief")], Workers())
        placement.actors[0].prepare.remote(list(needs))

    def launch(self, task: Task, watcher: Watcher) -> Outcome:
        """Run a task on the cluster; Ctrl-C stops it and gives a canceled Outcome."""
        task = self._offer_cluster(task)
        code = pack(task)
        written = read_written(task) if task.away else {}

        if task.workers and task.workers.bind and not task.workers.binds_everywhere:
            raise ValueError(
                f"Workers(bind={task.workers.bind!r}) is for one machine: on Ray, every worker "
                "listens at the address of its node. Leave bind out, or give '0.0.0.0'."
            )

        def reserve(members: Sequence[Member], workers: Workers) -> list[_Slot]:
            placement = self._placement_for(members, workers)
            nodes = [offer.node for offer in placement.offers]
            slots = []
            for actor, offer, _ in zip(placement.actors, placement.offers, members, strict=False):
                actor.prepare.remote([task.needs])
                num_cpus = offer.num_cpus // nodes.count(offer.node)
                variables = share_node(workers, num_cpus, offer.gpus)
                slots.append(
                    _Slot(
                        actor,
                        code=code,
                        written=written,
                        address=offer.address,
                        variables=variables,
                    )
                )
            return slots

        return run_worker_group(task, watcher, reserve)

    def close(self) -> None:
        """Leave nothing running on the cluster, and end it if it is ours."""
        if self._placement:
            self._placement.release()
            self._placement = None
        if self._connection:
            self._connection.close()
            self._connection = None

    def _connect(self) -> None:
        if self._connection is None:
            with contextlib.ExitStack() as connecting:
                connecting.enter_context(connect(self._address))
                self._connection = connecting.pop_all()

    def _offer_cluster(self, task: Task) -> Task:
        """Tell a step where to find several nodes for its shards; they have to share its root."""
        if task.away or not task.needs.shards:
            return task
        self._connect()
        if len(list_nodes()) < 2:
            return task
        address = load_ray().get_runtime_context().gcs_address
        return replace(task, cluster_address=address)

    def _placement_for(self, members: Sequence[Member], workers: Workers) -> "_Reservation":
        """The hosts that are there, if they are what is needed, or new ones."""
        self._connect()
        total_cpus = load_ray().cluster_resources().get("CPU", 0.0)
        bundles = bundles_for(members, workers, total_cpus)
        if self._placement and not self._placement.fits(bundles):
            self._placement.release()
            self._placement = None
        if self._placement is None:
            self._placement = _place(bundles, self._wait_seconds)
        return self._placement


def bundles_for(members: Sequence[Member], workers: Workers, total_cpus: float) -> list[Bundle]:
    """What Ray is to reserve for each member.

    Unless the user says how many, a processor each, or an equal share where there are fewer.
    """
    share = int(100 * total_cpus / len(members)) / 100
    cpus = workers.cpus_each or max(0.01, min(1.0, share))
    gpus = {"GPU": float(workers.gpus_each)} if workers.gpus_each else {}
    return [
        {"CPU": float(cpus), **(gpus if member.role in ("chief", "worker") else {})}
        for member in members
    ]


class _Reservation:
    """What Ray has reserved, and the hosts in it."""

    def __init__(self, bundles: Sequence[Bundle]) -> None:
        self._ray = load_ray()
        self._bundles = list(bundles)
        self._group = self._ray.util.placement_group(self._bundles, strategy="PACK")
        self.actors: list[Any] = []
        self.offers: list[HostOffer] = []
        self.error: Exception | None = None
        """Why the hosts did not come up, if there was room for them."""

    def fill(self, seconds: float) -> bool:
        """Start the hosts when there is room; whether that was so in time, and all are up."""
        until = time.monotonic() + seconds
        while not self._group.wait(1):  # Ctrl-C is heard once a second
            if time.monotonic() > until:
                return False
        variables = list_variables()
        self.actors = [
            self._host(index).remote(os.getcwd(), variables) for index in range(len(self._bundles))
        ]
        return self._collect_offers(max(_ANSWER_SECONDS, until - time.monotonic()))

    def fits(self, bundles: Sequence[Bundle]) -> bool:
        """Whether the first of these hosts are what is needed, and all are there."""
        return self._bundles[: len(bundles)] == bundles and self._collect_offers(_ANSWER_SECONDS)

    def release(self) -> None:
        """End the hosts, and give back what was reserved."""
        ends = [actor.close.remote() for actor in self.actors]
        if ends:
            self._ray.wait(ends, num_returns=len(ends), timeout=_ANSWER_SECONDS)
        for actor in self.actors:
            _end_actor(actor)
        self._ray.util.remove_placement_group(self._group)

    def _host(self, index: int) -> Any:
        scheduling = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(
            self._group, placement_group_bundle_index=index
        )
        bundle = self._bundles[index]
        return self._ray.remote(Host).options(
            num_cpus=bundle["CPU"],
            num_gpus=bundle.get("GPU", 0),
            max_concurrency=_NUM_CALLS,
            scheduling_strategy=scheduling,
        )

    def _collect_offers(self, seconds: float) -> bool:
        calls = [actor.offer.remote() for actor in self.actors]
        try:
            self.offers = self._ray.get(calls, timeout=seconds)
        except self._ray.exceptions.RayError as error:
            self.error = error
            return False
        return True


def _place(bundles: Sequence[Bundle], wait_seconds: float) -> _Reservation:
    """New hosts, as soon as there is room; those on a node that goes meanwhile are given up."""
    deadline = time.monotonic() + wait_seconds
    error: Exception | None = None
    while (left := deadline - time.monotonic()) > 0:
        if error:
            time.sleep(min(left, _AGAIN_SECONDS))
        with contextlib.ExitStack() as undo:
            placement = _Reservation(bundles)
            undo.callback(placement.release)
            if placement.fill(left):
                undo.pop_all()
                return placement
            error = placement.error
    if error:
        raise StepFailed(
            f"Ray had room for {len(bundles)} processes, and could not start them within "
            f"{wait_seconds:.0f} s: {error}"
        )
    raise StepFailed(_explain_no_room(bundles, wait_seconds))


def _explain_no_room(bundles: Sequence[Bundle], wait_seconds: float) -> str:
    total = load_ray().cluster_resources()
    needed = ", ".join(
        f"{sum(bundle.get(name, 0) for bundle in bundles):g} {name}" for name in bundles[0]
    )
    there = ", ".join(f"{total.get(name, 0):g} {name}" for name in bundles[0])
    return (
        f"Ray had no room within {wait_seconds:.0f} s for {len(bundles)} processes with {needed}; "
        f"the whole cluster has {there}. Ask for less with Workers(cpus_each=…, gpus_each=…), or "
        "wait longer: OnRay(wait_seconds=…)."
    )


def _end_actor(actor: Any) -> None:
    """End an actor; one whose node was lost before it was up cannot be, and need not."""
    ray = load_ray()
    with contextlib.suppress(ray.exceptions.RaySystemError):
        ray.kill(actor)


class _Slot:
    """Where one member runs on a node, reached through the host there."""

    def __init__(
        self,
        actor: Any,
        *,
        code: Shipment,
        written: Shipment,
        address: str,
        variables: dict[str, str],
    ) -> None:
        self.address = address
        self.variables = variables
        self.where = f"not started, node {address.rpartition(':')[0]}"
        self._ray = load_ray()
        self._actor = actor
        self._code, self._written = code, written
        self._used: float | None = None
        self._is_lost = False
        self._thread: threading.Thread | None = None

    def start(self, task: Task, watcher: Watcher, done: Callable[[Outcome], None]) -> None:
        """Have the host start the process, and follow it in a thread."""
        self._root_dir = task.root_dir
        arguments = (task.to_json(), watcher, done)
        self._thread = threading.Thread(target=self._follow, args=arguments, daemon=True)
        self._thread.start()

    def cpu_seconds(self) -> float | None:
        """What the host has told last: it stands still if the host does."""
        return self._used

    def stop(self) -> None:
        """End the process and what it started: politely, then not."""
        self._ask(self._actor.stop, _SAVING_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the process and what it started; a host that does not answer is ended with it."""
        if self._thread is None:
            return
        if self._is_lost or not self._ask(self._actor.kill, _ANSWER_SECONDS):
            _end_actor(self._actor)
        self._thread.join(_ANSWER_SECONDS)

    def _ask(self, method: Any, seconds: float) -> bool:
        try:
            self._ray.get(method.remote(), timeout=seconds)
        except self._ray.exceptions.RayError:
            return False
        return True

    def _follow(self, task: str, watcher: Watcher, done: Callable[[Outcome], None]) -> None:
        """Pass on what the host tells until there is no more."""
        try:
            self._ray.get(self._actor.start.remote(task, self._code, self._written))
            while True:
                for message in self._ray.get(self._actor.listen.remote()):
                    if message == ("ended", None):
                        return
                    self._pass_on(message, watcher, done)
        except self._ray.exceptions.RayTaskError as error:
            what = f"It did not start: {error.cause}"
            done(Outcome(failure=Failure(kind=WORKER_LOST, message=what)))
        except self._ray.exceptions.RayError as error:  # its host or its node is gone
            self._is_lost = True
            what, _, _ = str(error).strip().partition("\n")
            done(Outcome(failure=Failure(kind=WORKER_LOST, message=f"Ray has lost it: {what}")))

    def _pass_on(self, message: Message, watcher: Watcher, done: Callable[[Outcome], None]) -> None:
        match message:
            case ("output" | "error" as stream, data):
                watcher.output(data, error=stream == "error")
            case ("event", record):
                watcher.event(record)
            case ("file", chunk):
                write_chunk(chunk, self._root_dir)
            case ("outcome", text):
                done(Outcome.from_json(text))
            case ("seen", (used, where)):
                self._used, self.where = used, where
