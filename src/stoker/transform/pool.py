# SPDX-License-Identifier: Apache-2.0
"""The processes that share the passes over the data: this one, and forked copies of it."""

import itertools
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import Any, Self, TypeVar

from stoker.errors import StepFailed

__all__ = ["Pool", "may_fork"]

_Result = TypeVar("_Result")


class Pool:
    """This process and its copies. What `run` is given runs once in each, on a share of the work.

    The copies are forked here, so a pool has to be made before TensorFlow runs its first op: its
    threads do not survive a fork. Where that is too late, the pool is this process alone.
    """

    def __init__(self, num_workers: int) -> None:
        if num_workers < 1:
            raise ValueError(f"num_workers must be at least 1, got {num_workers}.")
        self._copies: list[tuple[ForkProcess, Connection]] = []
        if num_workers > 1 and may_fork():
            self._fork(num_workers - 1)

    @property
    def size(self) -> int:
        """How many processes there are, this one included."""
        return 1 + len(self._copies)

    def run(self, function: Callable[..., _Result], *args: Any) -> list[_Result]:
        """The results of `function(share, num_shares, *args)`, one from each process, in order.

        The function and its arguments are pickled. This process takes share 0.
        """
        for share, (_, connection) in enumerate(self._copies, start=1):
            connection.send((function, (share, self.size, *args)))
        return [
            function(0, self.size, *args),
            *(_answer(process, connection) for process, connection in self._copies),
        ]

    def run_here(self, function: Callable[..., _Result], *args: Any) -> list[_Result]:
        """As `run`, by this process alone: for what only this process can do."""
        return [function(0, 1, *args)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process, connection in self._copies:
            process.kill()
            process.join()
            connection.close()
        self._copies.clear()

    def _fork(self, num_copies: int) -> None:
        context = multiprocessing.get_context("fork")
        pipes = [context.Pipe() for _ in range(num_copies)]
        ends = list(itertools.chain.from_iterable(pipes))
        for ours, theirs in pipes:
            others = [end for end in ends if end is not theirs]
            process = context.Process(target=_serve, args=(theirs, others), daemon=True)
            with warnings.catch_warnings():
                # Python 3.12 warns about forking with threads; TensorFlow's have run nothing yet.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            self._copies.append((process, ours))
        for _, theirs in pipes:
            theirs.close()


def may_fork() -> bool:
    """Whether a copy of this process could still use TensorFlow."""
    if sys.platform != "linux":
        return False
    if "tensorflow" not in sys.modules:
        return True
    from tensorflow.python.eager import context

    current = context.context_safe()
    return current is None or not current._initialized


def _serve(connection: Connection, others: list[Connection]) -> None:
    """The life of a copy: it answers until the other end of its pipe is closed."""
    for end in others:  # or a pipe would never end while a copy holds on to it
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever made the pool ends it
    while True:
        try:
            function, args = connection.recv()
        except EOFError:
            os._exit(0)
        try:
            answer: tuple[Any, Exception | None] = (function(*args), None)
        except Exception as error:  # raised again by the process that asked
            answer = (None, _portable(error))
        connection.send(answer)


def _portable(error: Exception) -> Exception:
    """The error with the traceback it had here; another one of the same text if it cannot travel.

    Some of TensorFlow's errors can be pickled, and cannot be unpickled.
    """
    text = "".join(traceback.format_exception(error))
    try:
        travelled = pickle.loads(pickle.dumps(error))
    except (TypeError, AttributeError, pickle.PicklingError):
        travelled = StepFailed(str(error), text)
    travelled.add_note(f"It was raised in another process:\n{text}")
    return travelled  # type: ignore[no-any-return]


def _answer(process: ForkProcess, connection: Connection) -> Any:
    try:
        result, error = connection.recv()
    except EOFError:
        process.join()
        raise StepFailed(
            f"A process that analyzes or transforms data died (exit code {process.exitcode}). "
            "If it was killed for want of memory, use fewer processes."
        ) from None
    if error is not None:
        raise error
    return result
