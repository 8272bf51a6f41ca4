# SPDX-License-Identifier: Apache-2.0
"""Directories that outlive a run that was stopped, so that the next run of the same work goes on.

One run at a time holds such a directory, by the operating system's lock on a file in it.
"""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator

from stoker.storage.liveness import is_alive

__all__ = ["hold", "is_held"]

_LOCK = "lock"
_PATIENCE_SECONDS = 1.0


@contextlib.contextmanager
def hold(directory: str | None, *, otherwise: str, fresh: bool = False) -> Iterator[str]:
    """Hold a directory for the work inside, and remove it when the work has ended well.

    What stops the work by an error, or by force, leaves it for the next attempt. While another
    run holds it, or without one, the work gets the directory `otherwise`. With `fresh`, what
    earlier attempts left in it is removed first.
    """
    lock = None if directory is None else _lock(directory)
    if directory is None or lock is None:
        yield otherwise
        return
    try:
        if fresh:
            _empty(directory)
        yield directory
        shutil.rmtree(directory)
    finally:
        os.close(lock)


def is_held(directory: str) -> bool:
    """Whether a run is at work in this directory."""
    return is_alive(os.path.join(directory, _LOCK))


def _empty(directory: str) -> None:
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        elif entry.name != _LOCK:
            os.unlink(entry.path)


def _lock(directory: str) -> int | None:
    """The directory's lock, held; None if another process holds it, and goes on holding it.

    The processes of a run that was just killed need a moment to notice.
    """
    path = os.path.join(directory, _LOCK)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        os.makedirs(directory, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        except FileNotFoundError:  # another run has just removed the directory
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            if time.monotonic() > deadline:
                return None
            time.sleep(0.02)
            continue
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        os.close(descriptor)  # it was removed after we opened it
