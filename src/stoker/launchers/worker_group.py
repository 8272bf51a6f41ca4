# SPDX-License-Identifier: Apache-2.0
"""What a worker group is: processes that do one task together, wherever each of them runs.

    run_worker_group ──a Task per member──▶ one Slot each ──▶ processes
       ▲                                                         │
       └──────── output, heartbeats, the Outcome ◀───────────────┘

The first failure, the first member that is not heard of in time, and the step's time limit end all
of them; then they start again, at new addresses, as often as `retries` allows. Only the chief's
outputs are published.
"""

import contextlib
import enum
import json
import math
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from stoker.artifacts import Artifact, every
from stoker.launchers import Watcher
from stoker.launchers.heartbeat import BEAT_SECONDS, HEARTBEAT, WORKER_LOST
from stoker.launchers.step_log import StepLog
from stoker.storage.files import remove_dir
from stoker.storage.root import output_dir
from stoker.task import Cluster, Failure, Member, Outcome, Task, Workers

_START_SECONDS = 300.0
_SILENT_SECONDS = 8.0
_SILENT_SECONDS_UNSEEN = 60.0
_SETTLE_SECONDS = 1.0
_WIND_DOWN_SECONDS = 10.0
_LOOK_SECONDS = 0.25
_HELD_SECONDS = 2.0
_NUM_LAST_LINES = 10
# What TensorFlow raises in a process that lost another one.
_ERRORS_OF_OTHERS = (
    *("AbortedError", "CancelledError", "DeadlineExceededError", "InternalError"),
    *("UnavailableError", "UnknownError"),
)


class Slot(Protocol):
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


Reserve = Callable[[Sequence[Member], Workers], Sequence[Slot]]
"""Gives new slots for one attempt, in the order of the members: on this machine, or on several."""


@dataclass(kw_only=True)
class HeartbeatRecord:
    """When one member was heard of, and how it ended; in seconds of one clock."""

    name: str
    joins: bool = False
    """Whether it is to find the others before it can work."""
    sends_heartbeats: bool = True
    started_at: float = 0.0
    heard_at: float = 0.0
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


def list_members(workers: Workers, cluster: Cluster | None) -> list[Member]:
    """The members of a worker group, those that train first; none knows its cluster yet."""
    servers = cluster == "servers"
    num_workers = workers.count if servers else workers.count - 1
    return [
        Member(role="chief"),
        *(Member(role="worker", index=index, serves=servers) for index in range(num_workers)),
        *(Member(role="ps", index=index, serves=True) for index in range(workers.ps)),
        *([Member(role="evaluator")] if workers.evaluator else []),
    ]


def place_members(
    members: Sequence[Member], slots: Sequence[Slot], workers: Workers
) -> list[Member]:
    """The members with where they are, and their variables: TF_CONFIG, and those of their slots."""
    placed = list(zip(members, slots, strict=True))
    cluster: dict[str, list[str]] = {}
    for member, slot in placed:
        if member.role != "evaluator":  # it watches the cluster, and is no part of it
            cluster.setdefault(member.role, []).append(slot.address)

    def tf_config(member: Member) -> str:
        return json.dumps(
            {"cluster": cluster, "task": {"type": member.role, "index": member.index}}
        )

    return [
        replace(
            member,
            variables={**slot.variables, "TF_CONFIG": tf_config(member)},
            address=slot.address,
            binds_everywhere=workers.binds_everywhere,
        )
        for member, slot in placed
    ]


def make_member_task(task: Task, member: Member, *, attempt: int) -> Task:
    """The task of one member: the chief writes to the real outputs, all others to temporary ones.

    An Estimator's processes meet in the folder of its checkpoints, which is that of its logs.
    """
    log_file = os.path.join(os.path.dirname(task.log_file), "workers", f"{member.name}.log")
    if member.role == "chief":
        return replace(task, member=member, log_file=log_file)
    folder = os.path.join(task.tmp_dir, "workers", f"{member.name}-{attempt}")
    shares_logs = task.needs.cluster == "estimator"

    def move(artifact: Artifact, key: str) -> Artifact:
        if shares_logs and artifact.GATHERS_LOGS:
            return artifact
        return type(artifact).from_dict({**artifact.to_dict(), "uri": os.path.join(folder, key)})

    outputs = {
        key: [move(artifact, key) for artifact in many] for key, many in task.outputs.items()
    }
    return replace(task, member=member, log_file=log_file, outputs=outputs, tmp_dir=folder)


def find_overdue(
    heartbeats: Iterable[HeartbeatRecord], now: float, join_seconds: float
) -> tuple[HeartbeatRecord, str] | None:
    """The first member that is not heard of in time, and what is wrong with it."""
    heartbeats = [record for record in heartbeats if record.sends_heartbeats]
    for record in heartbeats:
        if record.outcome is not None:
            continue
        if silence := _silence(record, now):
            return record, f"It has given no sign of life for {silence:.0f} s: it is stopped."
        if record.up_at is None and now - record.started_at > _START_SECONDS:
            return record, f"It has not started within {_START_SECONDS:.0f} s."
    waiting = [record.joining_at or record.joined_at for record in heartbeats]
    first = min(filter(None, waiting), default=None)
    if first is None or now - first <= join_seconds:
        return None
    late = [record for record in heartbeats if record.joins and record.joined_at is None]
    late.sort(key=lambda record: record.joining_at is not None)
    return (late[0], _explain_delay(late[0], join_seconds)) if late else None


def _silence(heartbeat: HeartbeatRecord, now: float) -> float:
    """How long a member has been silent, if that is too long for one that runs."""
    limit = _SILENT_SECONDS if heartbeat.cpu_seconds is not None else _SILENT_SECONDS_UNSEEN
    seen = heartbeat.cpu_seconds is not None or heartbeat.up_at is not None
    silence = now - heartbeat.heard_at
    return silence if seen and silence > limit else 0.0


def _explain_delay(heartbeat: HeartbeatRecord, join_seconds: float) -> str:
    if heartbeat.joining_at is not None:
        what = "It waits for others that it cannot find"
    elif heartbeat.outcome is not None:
        what = "It ended without making the strategy that the others wait for"
    else:
        what = "It has not made the strategy that the others wait for"
    return (
        f"{what}, {join_seconds:.0f} s after the first one. If it only needs longer, say so: "
        "Workers(join_seconds=…)."
    )


def find_culprit(heartbeats: Iterable[HeartbeatRecord], now: float) -> HeartbeatRecord:
    """The member whose failure made the others fail."""

    def rank_innocence(record: HeartbeatRecord) -> tuple[int, float]:
        if record.failure is None:
            return (2, record.heard_at)
        if record.failure.kind == WORKER_LOST:
            return (0, record.ended_at)
        return (3 if record.failure.kind in _ERRORS_OF_OTHERS else 1, record.ended_at)

    def is_suspect(record: HeartbeatRecord) -> bool:
        runs = record.sends_heartbeats and record.outcome is None and record.up_at is not None
        silent = runs and now - record.heard_at > 3 * BEAT_SECONDS
        return record.failure is not None or silent

    return min(filter(is_suspect, heartbeats), key=rank_innocence)


class FailureDecision(enum.Enum):
    """What to do after a failed attempt."""

    RESTART = enum.auto()
    RAISE = enum.auto()


def decide_after_failure(
    failure: Failure, *, num_failures: int, retries: int | None, has_workers: bool = True
) -> FailureDecision:
    """Whether to start again after so many failures, of which this is the last.

    Unless the user says how often, once, and only if one of several processes was lost, or the one
    that shared out shards: an error of the user's own code would come again.
    """
    if retries is None:
        lost = failure.kind == WORKER_LOST or failure.kind in _ERRORS_OF_OTHERS
        retries = 1 if has_workers and lost else 0
    return FailureDecision.RESTART if num_failures <= retries else FailureDecision.RAISE


def run_worker_group(
    task: Task, watcher: Watcher, reserve: Reserve, stopping: threading.Event | None = None
) -> Outcome:
    """Do a task with all of its processes; the Outcome is the chief's, or the first failure.

    Ctrl-C, and `stopping` from another thread, end it: the Outcome is then canceled.
    """
    num_failures = 0
    while True:
        attempt = _Attempt(
            task, watcher, reserve, stopping or threading.Event(), number=num_failures
        )
        with contextlib.closing(attempt):
            outcome = attempt.outcome()
        if outcome.failure is None:
            return outcome
        num_failures += 1
        decision = decide_after_failure(
            outcome.failure,
            num_failures=num_failures,
            retries=task.retries,
            has_workers=task.has_workers or bool(task.cluster_address),
        )
        if decision is FailureDecision.RAISE:
            return Outcome(failure=_count_attempts(outcome.failure, num_failures))
        what, _, _ = outcome.failure.message.partition("\n")
        text = f"attempt {num_failures} failed: {outcome.failure.kind}: {what} Starting again."
        watcher.event({"kind": "warning", "text": text})
        _clear_outputs(task)


def _make_time_out(task: Task) -> Failure:
    is_saved = "What it has trained is saved. " if task.checkpoint_dir else ""
    return Failure(
        kind=TimeoutError.__name__,
        message=f"it took longer than its time limit, {task.timeout_seconds:g} s, and was ended.",
        hint=f"{is_saved}Allow more with .with_timeout(seconds), or see in its log what it waited "
        f"for: {task.log_file}",
    )


def _count_attempts(failure: Failure, num_failures: int) -> Failure:
    if num_failures == 1:
        return failure
    first, end, rest = failure.message.partition("\n")
    return replace(failure, message=f"{first} (attempt {num_failures}){end}{rest}")


def _clear_outputs(task: Task) -> None:
    """Remove the half of a model that a failed attempt may have left; what it logged stays."""
    for artifact in every(task.outputs):
        if not artifact.GATHERS_LOGS:
            folder = output_dir(artifact.uri)
            remove_dir(folder, by_way_of=os.path.join(task.tmp_dir, "removed"))
            os.makedirs(folder)


@dataclass(kw_only=True)
class _RunningMember:
    """One member in one attempt: what its process tells, and what is known of it."""

    member: Member
    task: Task
    slot: Slot
    heartbeat: HeartbeatRecord
    watcher: Watcher | None
    """Who sees its output and its progress: of the chief's, the user."""
    step_log: StepLog | None
    """Where its output is written too, if not to its own log alone."""
    ended: queue.SimpleQueue[tuple["_RunningMember", Outcome]]
    last_lines: deque[bytes] = field(default_factory=lambda: deque(maxlen=_NUM_LAST_LINES))

    def start(self) -> None:
        """Start the process."""
        for artifact in every(self.task.outputs):
            os.makedirs(output_dir(artifact.uri), exist_ok=True)
        self.heartbeat.started_at = self.heartbeat.heard_at = time.monotonic()
        self.slot.start(self.task, self, lambda outcome: self.ended.put((self, outcome)))

    def output(self, data: bytes, *, error: bool) -> None:
        """Its process printed something."""
        self.last_lines.extend(line for line in data.splitlines() if line.strip())
        if self.watcher:
            if self.step_log:
                self.step_log.write(data)
            self.watcher.output(data, error=error)

    def event(self, record: dict[str, Any]) -> None:
        """Its process sent a heartbeat, or reported on its progress."""
        now = self.heartbeat.heard_at = time.monotonic()
        match record:
            case {"kind": kind, "phase": "up" | "joining" | "joined" as phase} if kind == HEARTBEAT:
                setattr(self.heartbeat, f"{phase}_at", now)
            case {"kind": kind} if kind != HEARTBEAT and self.watcher:
                if self.step_log:
                    self.step_log.write_event(record)
                self.watcher.event(record)

    def look(self) -> None:
        """A process that is too busy for a heartbeat is alive, as its use of processors shows."""
        used = self.slot.cpu_seconds()
        if used is not None and used != self.heartbeat.cpu_seconds:
            self.heartbeat.heard_at = time.monotonic()
        self.heartbeat.cpu_seconds = used


class _Attempt:
    """All members from their start to the end of the last one."""

    def __init__(
        self,
        task: Task,
        watcher: Watcher,
        reserve: Reserve,
        stopping: threading.Event,
        *,
        number: int,
    ) -> None:
        workers = task.workers or Workers()
        self._stopping = stopping
        self._join_seconds = workers.join_seconds
        self._task = task
        self._ended: queue.SimpleQueue[tuple[_RunningMember, Outcome]] = queue.SimpleQueue()
        self._looked_at = time.monotonic()
        members = list_members(workers, task.needs.cluster)
        reserved = reserve(members, workers)
        members = place_members(members, reserved, workers)
        # Opened when nothing can fail before `close`: there may be no room for the members.
        self._step_log = StepLog(task.log_file, watcher) if workers.is_group else None
        self._members = [
            _RunningMember(
                member=member,
                # One process alone is no part of a cluster.
                task=make_member_task(task, member, attempt=number) if workers.is_group else task,
                slot=slot,
                heartbeat=HeartbeatRecord(
                    name=member.name,
                    joins=member.serves or task.needs.cluster == "all-reduce",
                    sends_heartbeats=workers.is_group,
                ),
                watcher=watcher if member.role == "chief" else None,
                step_log=self._step_log,
                ended=self._ended,
            )
            for member, slot in zip(members, reserved, strict=True)
        ]

    def outcome(self) -> Outcome:
        """Start everyone, and wait for the chief's Outcome or for the first failure."""
        try:
            for running in self._members:
                running.start()
            return self._wait(until=time.monotonic() + (self._task.timeout_seconds or math.inf))
        except KeyboardInterrupt:
            with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C does not wait
                self._chief.slot.stop()  # it may save how far it is
            while not self._ended.empty():
                self._listen(0)
            last = self._chief.heartbeat.outcome or Outcome()
            return Outcome(canceled=True, saved_step=last.saved_step)

    def close(self) -> None:
        """Leave no process behind."""
        with ThreadPoolExecutor(len(self._members)) as pool:
            list(pool.map(lambda running: running.slot.kill(), self._members))
        if self._step_log:
            self._step_log.close()

    @property
    def _chief(self) -> _RunningMember:
        return self._members[0]

    @property
    def _heartbeats(self) -> list[HeartbeatRecord]:
        return [running.heartbeat for running in self._members]

    def _wait(self, until: float) -> Outcome:
        while time.monotonic() < until:
            self._listen(_LOOK_SECONDS)
            if self._stopping.is_set():
                raise KeyboardInterrupt
            outcome = self._chief.heartbeat.outcome
            if outcome and outcome.canceled:
                return outcome
            if outcome and all(
                running.heartbeat.succeeded
                for running in self._members
                if running.member.role in ("chief", "evaluator")
            ):
                self._wind_down()
                return outcome
            now = time.monotonic()
            if any(heartbeat.failure for heartbeat in self._heartbeats):
                self._settle()
                return self._fail(find_culprit(self._heartbeats, time.monotonic()), now)
            if found := find_overdue(self._heartbeats, now, self._join_seconds):
                late, why = found
                late.outcome = Outcome(failure=Failure(kind=WORKER_LOST, message=why))
                return self._fail(late, now)
        if self._task.checkpoint_dir:
            self._chief.slot.stop()  # it may save how far it is
        return Outcome(failure=_make_time_out(self._task))

    def _listen(self, seconds: float) -> None:
        with contextlib.suppress(queue.Empty):
            running, outcome = self._ended.get(timeout=seconds)
            if running.heartbeat.outcome is None:
                alone = outcome.canceled and running is not self._chief
                stopped = Failure(kind=WORKER_LOST, message="It was asked to stop.")
                running.heartbeat.outcome = Outcome(failure=stopped) if alone else outcome
                running.heartbeat.ended_at = time.monotonic()
        self._look()

    def _look(self) -> None:
        now = time.monotonic()
        was_held = now - self._looked_at > _HELD_SECONDS  # by Ctrl-Z, or a machine that is too busy
        self._looked_at = now
        for running in self._members:
            running.look()
            if was_held:  # what they said in the meantime is still to be read
                running.heartbeat.heard_at = now

    def _settle(self) -> None:
        """Hear the others too: whoever lost the failed process may have been quicker to say so."""
        until = time.monotonic() + _SETTLE_SECONDS
        while (left := until - time.monotonic()) > 0 and not any(
            record.failure and record.failure.kind == WORKER_LOST for record in self._heartbeats
        ):
            self._listen(left)

    def _wind_down(self) -> None:
        """Let the others end what they do, such as saving what is thrown away."""
        until = time.monotonic() + _WIND_DOWN_SECONDS
        working = [running for running in self._members if not running.member.serves]
        while any(running.heartbeat.outcome is None for running in working):
            if (left := until - time.monotonic()) <= 0:
                return
            self._listen(min(left, _LOOK_SECONDS))

    def _fail(self, heartbeat: HeartbeatRecord, now: float) -> Outcome:
        running = next(running for running in self._members if running.heartbeat is heartbeat)
        silence = f"It has given no sign of life for {now - heartbeat.heard_at:.0f} s."
        failure = heartbeat.failure or Failure(kind=WORKER_LOST, message=silence)
        return Outcome(failure=self._explain(running, failure))

    def _explain(self, running: _RunningMember, failure: Failure) -> Failure:
        """The failure with who it was, where, and the last lines that it printed."""
        if len(self._members) == 1:
            return failure
        who = f"{running.heartbeat.name} ({running.slot.where}): {failure.message}"
        lines = [line.decode(errors="replace") for line in running.last_lines]
        printed = ["Its last lines:", *(f"  {line}" for line in lines)] if lines else []
        log = f"Its log: {running.task.log_file}"
        return replace(failure, message="\n".join([who, *printed, log]))
