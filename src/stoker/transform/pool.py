# SPDX-License-Identifier: Apache-2.0
"""The processes that share the passes over the data: this one, and forked copies of it."""

from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Self, TypeVar

from stoker.any_python.forking import Child, ProcessDied, ProcessRaised, may_fork
from stoker.errors import StepFailed

_Result = TypeVar("_Result")


class Pool:
    """This process and its copies. What `run` is given runs once in each, on a share of the work.

    The copies are forked here, so a pool has to be made before TensorFlow runs its first op: its
    threads do not survive a fork. Where that is too late, the pool is this process alone.
    """

    def __init__(self, num_workers: int) -> None:
        if num_workers < 1:
            raise ValueError(f"num_workers must be at least 1, got {num_workers}.")
        num_copies = num_workers - 1 if may_fork() else 0
        self._copies = [Child(_serve) for _ in range(num_copies)]

    @property
    def size(self) -> int:
        """How many processes there are, this one included."""
        return 1 + len(self._copies)

    def run(self, function: Callable[..., _Result], *args: Any) -> list[_Result]:
        """The results of `function(share, num_shares, *args)`, one from each process, in order.

        The function and its arguments are pickled. This process takes share 0. After an error the
        pool is of no more use.
        """
        for share, copy in enumerate(self._copies, start=1):
            copy.send((function, (share, self.size, *args)))
        return [function(0, self.size, *args), *map(_receive, self._copies)]

    def run_here(self, function: Callable[..., _Result], *args: Any) -> list[_Result]:
        """As `run`, by this process alone: for what only this process can do."""
        return [function(0, 1, *args)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for copy in self._copies:
            copy.kill()
        self._copies.clear()


def _serve(connection: Connection) -> None:
    """The life of a copy, until it is killed."""
    while True:
        function, args = connection.recv()
        connection.send(function(*args))


def _receive(copy: Child) -> Any:
    try:
        return copy.receive()
    except ProcessDied as death:
        raise StepFailed(
            f"A process that analyzes or transforms data died (exit code {death.exit_code}). "
            "If it was killed for want of memory, use fewer processes."
        ) from None
    except ProcessRaised as raised:
        raise raised.error or StepFailed(raised.message, raised.traceback) from raised
