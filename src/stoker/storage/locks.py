# SPDX-License-Identifier: Apache-2.0
"""Who is at work where: whoever holds the operating system's lock on a file.

A pid can be reused and a clock can jump; a lock is let go by the system when its process ends,
however it ends.
"""

import contextlib
import datetime
import fcntl
import os
import shutil
import time
from collections.abc import Iterator

from stoker.storage.root import Root

_LOCK = "lock"
_PATIENCE_SECONDS = 1.0


def is_locked(path: str) -> bool:
    """Whether the process that locked this file is still running."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _try_to_lock(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def hold_lock(path: str) -> Iterator[int]:
    """Hold a file's lock, after whoever holds it now; gives the file's descriptor."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def hold_run_lock(root: Root) -> Iterator[str]:
    """Hold the lock of a new run; gives the run's id."""
    os.makedirs(root.runs_dir, exist_ok=True)
    while True:
        run_id = datetime.datetime.now().isoformat()
        path = root.run_lock(run_id)
        with contextlib.suppress(FileExistsError):  # another run, in the same microsecond
            descriptor = _open(path, os.O_EXCL)
            break
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield run_id
    finally:
        os.unlink(path)
        os.close(descriptor)


@contextlib.contextmanager
def hold_dir(directory: str, *, otherwise: str, fresh: bool = False) -> Iterator[str]:
    """Hold a directory for the work inside, and remove it when the work has ended well.

    What stops the work by an error, or by force, leaves it for the next attempt. While another
    run holds it, the work gets the directory `otherwise`. With `fresh`, what earlier attempts left
    in it is removed first.
    """
    lock = _lock_dir(directory)
    if lock is None:
        yield otherwise
        return
    try:
        if fresh:
            empty_dir(directory)
        yield directory
        shutil.rmtree(directory)
    finally:
        os.close(lock)


def is_dir_held(directory: str) -> bool:
    """Whether a run is at work in this directory."""
    return is_locked(os.path.join(directory, _LOCK))


def empty_dir(directory: str) -> None:
    """Remove what is in a directory, but for the lock of its holder."""
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        elif entry.name != _LOCK:
            os.unlink(entry.path)


def _lock_dir(directory: str) -> int | None:
    """The directory's lock, held; None if another process holds it, and goes on holding it.

    The processes of a run that was just killed need a moment to notice.
    """
    path = os.path.join(directory, _LOCK)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        os.makedirs(directory, exist_ok=True)
        try:
            descriptor = _open(path)
        except FileNotFoundError:  # another run has just removed the directory
            continue
        if not _try_to_lock(descriptor):
            os.close(descriptor)
            if time.monotonic() > deadline:
                return None
            time.sleep(0.02)
            continue
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        os.close(descriptor)  # it was removed after we opened it


def _open(path: str, flags: int = 0) -> int:
    return os.open(path, os.O_CREAT | os.O_RDWR | flags, 0o644)


def _try_to_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
