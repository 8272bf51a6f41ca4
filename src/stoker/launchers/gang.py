# SPDX-License-Identifier: Apache-2.0
"""What a gang is: processes that do one task together, wherever each of them runs.

    run_gang ──a Task per member──▶ Place: one Seat each ──▶ processes
       ▲                                                        │
       └──────── output, signs of life, the Outcome ◀───────────┘

The first failure, or the first member that is not heard of in time, ends all of them; then they
begin again, at new addresses, as often as `retries` allows. Only the chief's outputs are published.
"""

import contextlib
import json
import os
import queue
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from stoker.artifacts import Artifact, every
from stoker.launchers import Watcher
from stoker.launchers.heartbeat import BEAT_SECONDS, SIGN
from stoker.task import Cluster, Failure, Member, Outcome, Task, Workers

__all__ = [
    "LOST",
    "Place",
    "Seat",
    "Sight",
    "again",
    "is_for_gang",
    "members_of",
    "overdue",
    "run_gang",
    "task_for",
    "to_blame",
]

LOST = "WorkerLost"
"""The kind of failure of a process that ended, or is not heard of, without saying why."""

_UP_SECONDS = 300.0
_SILENT_SECONDS = 8.0
_SILENT_SECONDS_UNSEEN = 60.0
_SETTLE_SECONDS = 1.0
_WIND_DOWN_SECONDS = 10.0
_LOOK_SECONDS = 0.25
_HELD_SECONDS = 2.0
_NUM_LAST_LINES = 10
# What a process says when it lost another one, in TensorFlow's words.
_OF_OTHERS = frozenset(
    {
        "AbortedError",
        "CancelledError",
        "DeadlineExceededError",
        "InternalError",
        "UnavailableError",
        "UnknownError",
    }
)


class Seat(Protocol):
    """Where one member runs, for one attempt."""

    @property
    def address(self) -> str:
        """`host:port`, which the others can reach and nobody uses."""

    @property
    def variables(self) -> Mapping[str, str]:
        """What it may use of its machine, as environment variables."""

    @property
    def where(self) -> str:
        """Its process and machine, for messages."""

    def start(self, task: Task, watcher: Watcher, done: Callable[[Outcome], None]) -> None:
        """Start the process. `done` is called, from any thread, when the task or it has ended."""

    def cpu_seconds(self) -> float | None:
        """The processor time that it has used; None if that cannot be seen."""

    def stop(self) -> None:
        """End it and what it started, politely at first; return when it is gone."""

    def kill(self) -> None:
        """End it and what it started at once; return when it is gone."""


class Place(Protocol):
    """Where gangs run: on this machine, or on several."""

    def seats(self, members: Sequence[Member], workers: Workers) -> Sequence[Seat]:
        """New seats for one attempt, in the order of `members`."""


@dataclass(kw_only=True)
class Sight:
    """What has been seen of one member, in seconds of one clock."""

    name: str
    joins: bool = False
    """Whether it is to find the others before it can work."""
    gives_signs: bool = True
    started_at: float = 0.0
    sign_at: float = 0.0
    cpu_seconds: float | None = None
    up_at: float | None = None
    joining_at: float | None = None
    joined_at: float | None = None
    outcome: Outcome | None = None
    ended_at: float = 0.0

    @property
    def failure(self) -> Failure | None:
        """Why it failed, if it did."""
        return self.outcome.failure if self.outcome else None

    @property
    def succeeded(self) -> bool:
        """Whether it has done its part."""
        return self.outcome is not None and self.outcome.failure is None


def is_for_gang(task: Task) -> bool:
    """Whether a task is for several processes, or for one that may have to begin again."""
    return bool(task.retries) or bool(task.workers and task.workers.is_gang)


def members_of(workers: Workers, cluster: Cluster | None) -> list[Member]:
    """The members of a gang, those that train first; none knows its cluster yet."""
    servers = cluster == "servers"
    num_workers = workers.count if servers else workers.count - 1
    return [
        Member(role="chief"),
        *(Member(role="worker", index=index, serves=servers) for index in range(num_workers)),
        *(Member(role="ps", index=index, serves=True) for index in range(workers.ps)),
        *([Member(role="evaluator")] if workers.evaluator else []),
    ]


def with_cluster(
    members: Sequence[Member], addresses: Sequence[str], more: Sequence[Mapping[str, str]]
) -> list[Member]:
    """The members as their processes are told: TF_CONFIG, and what else is set for each."""
    cluster: dict[str, list[str]] = {}
    for member, address in zip(members, addresses, strict=True):
        if member.role != "evaluator":  # it watches the cluster, and is no part of it
            cluster.setdefault(member.role, []).append(address)
    return [
        replace(
            member,
            variables={
                **variables,
                "TF_CONFIG": json.dumps(
                    {"cluster": cluster, "task": {"type": member.role, "index": member.index}}
                ),
            },
        )
        for member, variables in zip(members, more, strict=True)
    ]


def task_for(task: Task, member: Member, *, attempt: int) -> Task:
    """The task of one member: the chief writes to the real outputs, all others to temporary ones.

    An Estimator's processes meet in the folder of its checkpoints, which is `model_run`.
    """
    log_file = os.path.join(os.path.dirname(task.log_file), "workers", f"{member.name}.log")
    one = replace(task, member=member, log_file=log_file)
    if member.role == "chief":
        return one
    folder = os.path.join(task.tmp_dir, "workers", f"{member.name}-{attempt}")
    shared = {"model_run"} if task.needs.cluster == "estimator" else set()
    outputs = {
        key: artifacts
        if key in shared
        else [_moved(artifact, os.path.join(folder, key)) for artifact in artifacts]
        for key, artifacts in task.outputs.items()
    }
    return replace(one, outputs=outputs, tmp_dir=folder)


def _moved(artifact: Artifact, uri: str) -> Artifact:
    return type(artifact).from_dict({**artifact.to_dict(), "uri": uri})


def overdue(sights: Iterable[Sight], now: float, join_seconds: float) -> tuple[Sight, str] | None:
    """The first member that is not heard of in time, and what is wrong with it."""
    sights = [sight for sight in sights if sight.gives_signs]
    for sight in sights:
        if sight.outcome is None and (silence := _silence(sight, now)):
            return sight, f"It has given no sign of life for {silence:.0f} s: it is stopped."
        if sight.up_at is None and sight.outcome is None and now - sight.started_at > _UP_SECONDS:
            return sight, f"It has not started within {_UP_SECONDS:.0f} s."
    waiting = [sight.joining_at or sight.joined_at for sight in sights]
    first = min(filter(None, waiting), default=None)
    if first is None or now - first <= join_seconds:
        return None
    late = [sight for sight in sights if sight.joins and sight.joined_at is None]
    late.sort(key=lambda sight: sight.joining_at is not None)
    return (late[0], _late(late[0], join_seconds)) if late else None


def _silence(sight: Sight, now: float) -> float:
    """How long a member has been silent, if that is too long for one that runs."""
    limit = _SILENT_SECONDS if sight.cpu_seconds is not None else _SILENT_SECONDS_UNSEEN
    seen = sight.cpu_seconds is not None or sight.up_at is not None
    silence = now - sight.sign_at
    return silence if seen and silence > limit else 0.0


def _late(sight: Sight, join_seconds: float) -> str:
    if sight.joining_at is not None:
        what = "It waits for others that it cannot find"
    elif sight.outcome is not None:
        what = "It ended without making the strategy that the others wait for"
    else:
        what = "It has not made the strategy that the others wait for"
    return (
        f"{what}, {join_seconds:.0f} s after the first one. If it only needs longer, say so: "
        "Workers(join_seconds=…)."
    )


def to_blame(sights: Iterable[Sight], now: float) -> Sight:
    """The member whose failure made the others fail."""

    def innocence(sight: Sight) -> tuple[int, float]:
        if sight.failure is None:
            return (2, sight.sign_at)
        if sight.failure.kind == LOST:
            return (0, sight.ended_at)
        return (3 if sight.failure.kind in _OF_OTHERS else 1, sight.ended_at)

    def is_suspect(sight: Sight) -> bool:
        silent = sight.gives_signs and sight.outcome is None and sight.up_at is not None
        return sight.failure is not None or (silent and now - sight.sign_at > 3 * BEAT_SECONDS)

    return min(filter(is_suspect, sights), key=innocence)


def again(failure: Failure, *, num_failures: int, retries: int | None) -> bool:
    """Whether to begin again after so many failures, of which this is the last.

    Unless the user says how often, once, and only if a process was lost: an error of the user's own
    code would come again.
    """
    if retries is None:
        retries = 1 if failure.kind == LOST or failure.kind in _OF_OTHERS else 0
    return num_failures <= retries


def run_gang(task: Task, watcher: Watcher, place: Place) -> Outcome:
    """Do a task with all of its processes; the Outcome is the chief's, or the first failure."""
    num_failures = 0
    while True:
        with contextlib.closing(_Attempt(task, watcher, place, number=num_failures)) as attempt:
            outcome = attempt.outcome()
        if outcome.failure is None:
            return outcome
        num_failures += 1
        if not again(outcome.failure, num_failures=num_failures, retries=task.retries):
            return Outcome(failure=_counted(outcome.failure, num_failures))
        what, _, _ = outcome.failure.message.partition("\n")
        watcher.event({"kind": "warning", "text": f"{what} Beginning again."})
        _clear(task)


def _counted(failure: Failure, num_failures: int) -> Failure:
    if num_failures == 1:
        return failure
    first, *rest = failure.message.split("\n")
    message = "\n".join([f"{first} That was attempt {num_failures}.", *rest])
    return replace(failure, message=message)


def _clear(task: Task) -> None:
    """Remove the half of a model that a failed attempt may have left; what it logged stays."""
    for artifact in every({key: many for key, many in task.outputs.items() if key != "model_run"}):
        shutil.rmtree(artifact.uri, ignore_errors=True)
        os.makedirs(artifact.uri)


@dataclass(kw_only=True)
class _Membership:
    """One member in one attempt: what its process tells, and what is known of it."""

    member: Member
    task: Task
    seat: Seat
    sight: Sight
    watcher: Watcher | None
    """Who sees its output and its progress: of the chief's, the user."""
    step_log: str
    ended: queue.SimpleQueue[tuple["_Membership", Outcome]]
    last_lines: deque[bytes] = field(default_factory=lambda: deque(maxlen=_NUM_LAST_LINES))

    def start(self) -> None:
        """Start the process."""
        for artifact in every(self.task.outputs):
            os.makedirs(artifact.uri, exist_ok=True)
        self.sight.started_at = self.sight.sign_at = time.monotonic()
        self.seat.start(self.task, self, lambda outcome: self.ended.put((self, outcome)))

    def output(self, data: bytes, *, error: bool) -> None:
        """Its process printed something."""
        self.last_lines.extend(line for line in data.splitlines() if line.strip())
        if self.watcher:
            if self.step_log != self.task.log_file:
                with open(self.step_log, "ab") as log:
                    log.write(data)
            self.watcher.output(data, error=error)

    def event(self, record: dict[str, Any]) -> None:
        """Its process gave a sign of life, or reported on its progress."""
        now = self.sight.sign_at = time.monotonic()
        match record:
            case {"kind": kind, "sign": "up" | "joining" | "joined" as sign} if kind == SIGN:
                setattr(self.sight, f"{sign}_at", now)
            case {"kind": kind} if kind != SIGN and self.watcher:
                self.watcher.event(record)

    def look(self) -> None:
        """A process that is too busy to give a sign is alive, as its use of the processor shows."""
        used = self.seat.cpu_seconds()
        if used is not None and used != self.sight.cpu_seconds:
            self.sight.sign_at = time.monotonic()
        self.sight.cpu_seconds = used


class _Attempt:
    """All members from their start to the end of the last one."""

    def __init__(self, task: Task, watcher: Watcher, place: Place, *, number: int) -> None:
        workers = task.workers or Workers()
        self._join_seconds = workers.join_seconds
        self._ended: queue.SimpleQueue[tuple[_Membership, Outcome]] = queue.SimpleQueue()
        self._looked_at = time.monotonic()
        members = members_of(workers, task.needs.cluster)
        seats = place.seats(members, workers)
        told = with_cluster(
            members, [seat.address for seat in seats], [seat.variables for seat in seats]
        )
        self._members = [
            _Membership(
                member=member,
                # One process alone is no part of a cluster.
                task=task_for(task, member, attempt=number) if workers.is_gang else task,
                seat=seat,
                sight=Sight(
                    name=member.name,
                    joins=member.serves or task.needs.cluster == "all-reduce",
                    gives_signs=workers.is_gang,
                ),
                watcher=watcher if member.role == "chief" else None,
                step_log=task.log_file,
                ended=self._ended,
            )
            for member, seat in zip(told, seats, strict=True)
        ]

    def outcome(self) -> Outcome:
        """Start everyone, and wait for the chief's Outcome or for the first failure."""
        try:
            for one in self._members:
                one.start()
            return self._wait()
        except KeyboardInterrupt:
            with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C does not wait
                self._chief.seat.stop()  # it may save how far it is
            return Outcome(canceled=True)

    def close(self) -> None:
        """Leave no process behind."""
        with ThreadPoolExecutor(len(self._members)) as pool:
            list(pool.map(lambda one: one.seat.kill(), self._members))

    @property
    def _chief(self) -> _Membership:
        return self._members[0]

    @property
    def _sights(self) -> list[Sight]:
        return [one.sight for one in self._members]

    def _wait(self) -> Outcome:
        while True:
            self._listen(_LOOK_SECONDS)
            outcome = self._chief.sight.outcome
            if outcome and outcome.canceled:
                return outcome
            if outcome and all(
                one.sight.succeeded
                for one in self._members
                if one.member.role in ("chief", "evaluator")
            ):
                self._wind_down()
                return outcome
            now = time.monotonic()
            if any(sight.failure for sight in self._sights):
                self._settle()
                return self._failed(to_blame(self._sights, time.monotonic()), now)
            if found := overdue(self._sights, now, self._join_seconds):
                late, why = found
                late.outcome = Outcome(failure=Failure(kind=LOST, message=why))
                return self._failed(late, now)

    def _listen(self, seconds: float) -> None:
        with contextlib.suppress(queue.Empty):
            one, outcome = self._ended.get(timeout=seconds)
            if one.sight.outcome is None:
                alone = outcome.canceled and one is not self._chief
                stopped = Failure(kind=LOST, message="It was asked to stop.")
                one.sight.outcome = Outcome(failure=stopped) if alone else outcome
                one.sight.ended_at = time.monotonic()
        self._look()

    def _look(self) -> None:
        now = time.monotonic()
        was_held = now - self._looked_at > _HELD_SECONDS  # by Ctrl-Z, or a machine that is too busy
        self._looked_at = now
        for one in self._members:
            one.look()
            if was_held:  # what they said in the meantime is still to be read
                one.sight.sign_at = now

    def _settle(self) -> None:
        """Hear the others too: whoever lost the failed process may have been quicker to say so."""
        until = time.monotonic() + _SETTLE_SECONDS
        while (left := until - time.monotonic()) > 0 and not self._has_lost_one():
            self._listen(left)

    def _has_lost_one(self) -> bool:
        return any(sight.failure and sight.failure.kind == LOST for sight in self._sights)

    def _wind_down(self) -> None:
        """Let the others end what they do, such as saving what is thrown away."""
        until = time.monotonic() + _WIND_DOWN_SECONDS
        while any(one.sight.outcome is None for one in self._members if not one.member.serves):
            if (left := until - time.monotonic()) <= 0:
                return
            self._listen(min(left, _LOOK_SECONDS))

    def _failed(self, sight: Sight, now: float) -> Outcome:
        one = next(one for one in self._members if one.sight is sight)
        if sight.failure is None:
            silence = f"It has given no sign of life for {now - sight.sign_at:.0f} s."
            return Outcome(failure=self._explained(one, Failure(kind=LOST, message=silence)))
        return Outcome(failure=self._explained(one, sight.failure))

    def _explained(self, one: _Membership, failure: Failure) -> Failure:
        """The failure with who it was, where, and the last lines that it printed."""
        if len(self._members) == 1:
            return failure
        who = f"{one.sight.name} ({one.seat.where}): {failure.message}"
        lines = [line.decode(errors="replace") for line in one.last_lines]
        told = ["Its last lines:", *(f"  {line}" for line in lines)] if lines else []
        return replace(failure, message="\n".join([who, *told, f"Its log: {one.task.log_file}"]))
