# SPDX-License-Identifier: Apache-2.0
"""A process that forks workers whenever they are wanted, and stays as clean as it was made.

    this process ──start(name)──▶ nursery ──fork──▶ worker, worker, …
         ▲                           │
         └───── (name, exit code) ◀──┘

Forking is safe only before TensorFlow runs its first op. The nursery is forked before that, and
runs none, so that a worker that died can be replaced at any time.
"""

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, Self

from stoker.errors import StepFailed
from stoker.training.progress import set_sink

__all__ = ["Nursery"]

_GRACE_SECONDS = 5.0
_fork = multiprocessing.get_context("fork")

Work = Callable[..., None]


class Nursery:
    """Runs `work(name, *args)` in a fresh process for every `start(name, *args)`."""

    def __init__(self, work: Work) -> None:
        self._connection, theirs = _fork.Pipe()
        self._process = _fork.Process(target=_tend, args=(theirs, self._connection, work))
        _start(self._process)
        theirs.close()

    def start(self, name: str, *args: Any) -> None:
        """Start a worker."""
        self._connection.send((name, args))

    def wait(self) -> tuple[str, int]:
        """Wait until a worker ends: its name and its exit code, negative for a signal."""
        try:
            name, exit_code = self._connection.recv()
        except EOFError:
            raise StepFailed(
                "The process that starts the workers of the search was killed. The system may "
                "have run out of memory."
            ) from None
        return name, exit_code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()  # the nursery then ends its workers and itself
        self._process.join(_GRACE_SECONDS)
        self._process.kill()
        self._process.join()


def _start(process: ForkProcess) -> None:
    with warnings.catch_warnings():
        # Python 3.12 warns about forking with threads; TensorFlow's have run nothing yet.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()


def _tend(connection: Connection, other_end: Connection, work: Work) -> None:
    """The life of the nursery: until the other end of its pipe is closed."""
    other_end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever made the nursery ends it
    set_sink(None)  # one process of a step reports
    workers: dict[int, ForkProcess] = {}
    while True:
        for ready in wait([connection, *workers]):
            if isinstance(ready, int):
                process = workers.pop(ready)
                process.join()
                connection.send((process.name, process.exitcode))
                continue
            try:
                name, args = connection.recv()
            except EOFError:
                for process in workers.values():
                    process.kill()
                os._exit(0)
            process = _fork.Process(target=_live, name=name, args=(connection, work, name, *args))
            _start(process)
            workers[process.sentinel] = process


def _live(connection: Connection, work: Work, *args: Any) -> None:
    connection.close()  # or the nursery's end would stay open without the nursery
    threading.Thread(target=_end_with_the_nursery, daemon=True).start()
    work(*args)


def _end_with_the_nursery() -> None:
    nursery = multiprocessing.parent_process()
    assert nursery
    nursery.join()
    os._exit(1)
