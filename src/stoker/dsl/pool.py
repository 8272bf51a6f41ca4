# SPDX-License-Identifier: Apache-2.0
"""Where the shards of a step are worked on: in this process, in copies of it, or on a cluster.

An executor asks its context for a pool, and maps a function over its shards:

    with self._context.open_pool(len(shards)) as pool:
        for counts in pool.map(count_shard, shards):
            total.merge(counts)

Results come in the order of the shards, and how a step is cut into shards depends on its data
alone. So every pool makes the same of it.

To add a pool:

1. Write a class with the two members of `Pool`, and its place among the launchers: `ray_pool.py`.
2. Let the launcher say in the Task where its cluster is (`cluster_address`), as `on_ray.py` does.
3. Open it in `launchers/worker.py`, as the `open_cluster` of the executor's context.
"""

import queue
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from stoker.any_python.forking import (
    Child,
    ProcessDied,
    ProcessRaised,
    describe_raised,
    may_fork,
)
from stoker.any_python.in_order import call_in_order
from stoker.any_python.launcher_link import report, set_sink
from stoker.any_python.progress import ADVANCE, advance, leave_following
from stoker.errors import StepFailed

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["Answer", "LocalPool", "Pool", "answer"]

_Shard = TypeVar("_Shard")
_Result = TypeVar("_Result")


class Pool(Protocol):
    """What works on shards."""

    @property
    def where(self) -> str:
        """Where that is, for people: it `runs on this machine, in 2 processes`."""

    def map(
        self, function: Callable[[_Shard], _Result], shards: Iterable[_Shard]
    ) -> Iterator[_Result]:
        """The result of each shard, in order; only a few are begun before they are asked for.

        The function is one of a module, or a partial of such: it is pickled, and so are shards
        and results. After an error the pool is of no more use.
        """


class LocalPool:
    """This process, and copies of it.

    The copies are forked here, so a pool has to be made before TensorFlow runs its first op: its
    threads do not survive a fork. Where that is too late, the pool is this process alone.
    """

    def __init__(self, num_processes: int = 1) -> None:
        if num_processes < 1:
            raise ValueError(f"num_processes must be at least 1, got {num_processes}.")
        num_copies = num_processes - 1 if may_fork() else 0
        self._copies = [Child(_serve) for _ in range(num_copies)]

    @property
    def size(self) -> int:
        """How many processes there are, this one included."""
        return 1 + len(self._copies)

    @property
    def where(self) -> str:
        """This machine, and how many processes."""
        return f"on this machine, in {self.size} process{'es' if self.size > 1 else ''}"

    def map(
        self, function: Callable[[_Shard], _Result], shards: Iterable[_Shard]
    ) -> Iterator[_Result]:
        """As Pool says; whichever process is idle takes the next shard, this one too."""
        if not self._copies:
            return map(function, shards)
        idle: queue.SimpleQueue[Child | None] = queue.SimpleQueue()
        for copy in (None, *self._copies):
            idle.put(copy)

        def work_on(shard: _Shard) -> _Result:
            process = idle.get()
            try:
                return function(shard) if process is None else _ask(process, function, shard)
            finally:
                idle.put(process)

        return call_in_order(work_on, shards, self.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for copy in self._copies:
            copy.kill()
        self._copies.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What another process made of a shard: a value or an error, and what it had to tell."""

    value: Any = None
    raised: ProcessRaised | None = None
    events: list[dict[str, Any]] = field(default_factory=list)

    def take(self) -> Any:
        """The value, as if it were made here: what was told is told, what was raised is raised."""
        for event in self.events:
            if event["kind"] == ADVANCE:
                advance(event["count"])
            elif event["kind"] == "warning":
                report(event)
        if self.raised:
            error = self.raised.error or StepFailed(self.raised.message, self.raised.traceback)
            raise error from self.raised
        return self.value


def answer(function: Callable[[Any], Any], shard: Any) -> Answer:
    """Work on a shard for another process."""
    events: list[dict[str, Any]] = []
    set_sink(events.append)
    try:
        return Answer(value=function(shard), events=events)
    except Exception as error:  # raised again by whoever asked
        return Answer(raised=describe_raised(error), events=events)


def _serve(connection: "Connection") -> None:
    """The life of a copy, until it is killed."""
    leave_following()
    while True:
        function, shard = connection.recv()
        connection.send(answer(function, shard))


def _ask(process: Child, function: Callable[[_Shard], _Result], shard: _Shard) -> _Result:
    process.send((function, shard))
    try:
        found: Answer = process.receive()
    except ProcessDied as death:
        raise StepFailed(
            f"A process that works on the data died (exit code {death.exit_code}). If it was "
            "killed for want of memory, use fewer processes."
        ) from None
    result: _Result = found.take()
    return result
