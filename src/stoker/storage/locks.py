# SPDX-License-Identifier: Apache-2.0
"""Who is at work where: whoever holds the operating system's lock on a file.

A pid can be reused and a clock can jump; a lock is let go by the system when its process ends,
however it ends. Several users may share a root: to see a lock, or to take one that nobody holds, it
is enough that its file may be read.
"""

import contextlib
import datetime
import errno
import fcntl
import glob
import os
import shutil
import time
from collections.abc import Callable, Iterator

from stoker.storage.files import remove_dir
from stoker.storage.root import Root, name_step, step_lock

_PATIENCE_SECONDS = 1.0


def is_locked(path: str) -> bool:
    """Whether the process that locked this file is still running; of a hidden one, it may be."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:
        return True
    try:
        # A shared lock: on NFS, an exclusive one is only for those who may write.
        return not _try_to_lock(descriptor, fcntl.LOCK_SH, path)
    finally:
        os.close(descriptor)


def is_step_alive(run_lock: str, node_id: str) -> bool:
    """Whether a process is at work on a step: its whole run, or the step by itself."""
    return bool(run_lock) and (is_locked(run_lock) or is_locked(step_lock(run_lock, node_id)))


def is_run_alive(run_lock: str) -> bool:
    """Whether a process is at work on a run, or on one of the steps that join it."""
    if not run_lock:
        return False
    steps = glob.glob(step_lock(glob.escape(run_lock.removesuffix(".lock")), "*"))
    return is_locked(run_lock) or any(map(is_locked, steps))


@contextlib.contextmanager
def hold_lock(path: str) -> Iterator[None]:
    """Hold a file's lock, after whoever holds it now."""
    descriptor = _open(path)
    try:
        _flock(descriptor, fcntl.LOCK_EX, path)
        yield
    finally:
        os.close(descriptor)


def share_lock(path: str) -> int:
    """Hold a file's lock together with others who share it, until what this gives is closed."""
    descriptor = _open(path)
    _flock(descriptor, fcntl.LOCK_SH, path)
    return descriptor


@contextlib.contextmanager
def try_to_hold(path: str) -> Iterator[bool]:
    """Hold a file's lock inside, if nobody holds it now; whether that is so."""
    descriptor = _open(path)
    try:
        yield _try_to_lock(descriptor, fcntl.LOCK_EX, path)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def hold_folder(folder: str) -> Iterator[None]:
    """Hold the lock of a folder itself, after whoever holds it now; on NFS, nobody waits."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(PermissionError):  # NFS locks what may be written to: files
            _flock(descriptor, fcntl.LOCK_EX, folder)
        yield
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
        _flock(descriptor, fcntl.LOCK_EX, path)
        yield run_id
    finally:
        _let_go(descriptor, path)


@contextlib.contextmanager
def hold_step_lock(
    root: Root, run_id: str, node_id: str, before_waiting: Callable[[], None]
) -> Iterator[None]:
    """Hold the lock of one step of a run, after whoever is at the same step now."""
    os.makedirs(root.runs_dir, exist_ok=True)
    path = root.run_lock(name_step(run_id, node_id))
    lock = _lock_now(path)
    if lock is None:
        before_waiting()
    while lock is None:
        with hold_lock(path):
            pass
        lock = _lock_now(path)
    try:
        yield
    finally:
        _let_go(lock, path)


@contextlib.contextmanager
def hold_dir(directory: str, otherwise: str, *, fresh: bool = False) -> Iterator[str]:
    """Hold a directory for the work inside, and remove it when the work has ended well.

    What stops the work by an error, or by force, leaves it for the next attempt. While another
    run holds it, the work gets the directory `otherwise`. With `fresh`, what earlier attempts left
    in it is removed first.

    The lock is beside the directory: FUSE and NFS keep a file as long as it is open, under another
    name, and the directory with it.
    """
    path = _lock_of(directory)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    lock = _lock_soon(path)
    if lock is None:
        yield otherwise
        return
    try:
        if fresh:
            remove_dir(directory, by_way_of=otherwise)
        os.makedirs(directory, exist_ok=True)
        if not _take_over(directory, by_way_of=otherwise):
            yield otherwise
            return
        yield directory
        remove_dir(directory, by_way_of=otherwise)
    finally:
        _let_go(lock, path)


def discard_dir(directory: str, otherwise: str) -> None:
    """Remove what is left of work that has ended well, unless a run is at work there."""
    if os.path.lexists(directory) or os.path.lexists(_lock_of(directory)):
        with hold_dir(directory, otherwise):
            pass


def is_dir_held(directory: str) -> bool:
    """Whether a run is at work in this directory."""
    return is_locked(_lock_of(directory))


def _take_over(directory: str, *, by_way_of: str) -> bool:
    """Make what another user left ours, by copying it where we may not write; False if we cannot.

    TensorFlow gives new folders to their maker alone, whatever the umask says.
    """
    if all(os.access(folder, os.W_OK | os.X_OK) for folder, _, _ in os.walk(directory)):
        return True
    copy = f"{by_way_of}-copy"
    try:
        shutil.copytree(directory, copy)
    except OSError:  # we may not even read it
        shutil.rmtree(copy, ignore_errors=True)
        return False
    remove_dir(directory, by_way_of=by_way_of)
    os.rename(copy, directory)
    return True


def _lock_of(directory: str) -> str:
    return f"{directory}.lock"


def _lock_soon(path: str) -> int | None:
    """A file's lock, held; None if another process holds it, and goes on holding it.

    The processes of a run that was just killed need a moment to notice.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (lock := _lock_now(path)) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return lock


def _lock_now(path: str) -> int | None:
    """A file's lock, held; None if another process holds it."""
    while True:
        descriptor = _open(path)
        if not _try_to_lock(descriptor, fcntl.LOCK_EX, path):
            os.close(descriptor)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        os.close(descriptor)  # it was removed after we opened it


def _let_go(lock: int, path: str) -> None:
    """Release a lock, and remove its file, which means nothing more."""
    with contextlib.suppress(OSError):
        os.unlink(path)
    os.close(lock)


def _open(path: str, flags: int = 0) -> int:
    """A file to lock, new or not; one that another user made need not be writable."""
    try:
        return os.open(path, os.O_CREAT | os.O_RDWR | flags, 0o666)
    except PermissionError:
        if not os.path.exists(path):
            raise
        return os.open(path, os.O_RDONLY)


def _try_to_lock(descriptor: int, kind: int, path: str) -> bool:
    try:
        _flock(descriptor, kind | fcntl.LOCK_NB, path)
    except BlockingIOError:
        return False
    return True


def _flock(descriptor: int, kind: int, path: str) -> None:
    try:
        fcntl.flock(descriptor, kind)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        raise PermissionError(
            errno.EACCES, "On this file system, only who may write to a file can lock it", path
        ) from error
