# SPDX-License-Identifier: Apache-2.0
"""Whether a run is alive: it is while it holds the operating system's lock on its own file.

A pid can be reused and a clock can jump; a lock is let go by the system when its process ends,
however it ends.
"""

import contextlib
import datetime
import fcntl
import os
from collections.abc import Iterator

__all__ = ["hold_run_lock", "is_alive"]


@contextlib.contextmanager
def hold_run_lock(directory: str) -> Iterator[tuple[str, str]]:
    """Hold the lock of a new run; gives the run's id and the path of its lock file."""
    os.makedirs(directory, exist_ok=True)
    run_id, path, descriptor = _new_lock_file(directory)
    try:
        yield run_id, path
    finally:
        os.unlink(path)
        os.close(descriptor)


def _new_lock_file(directory: str) -> tuple[str, str, int]:
    while True:
        run_id = datetime.datetime.now().isoformat()
        path = os.path.join(directory, f"{run_id}.lock")
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644)
        except FileExistsError:  # another run, in the same microsecond
            continue
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return run_id, path, descriptor


def is_alive(path: str) -> bool:
    """Whether the run that locked this file is still running."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
