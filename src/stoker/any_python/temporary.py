# SPDX-License-Identifier: Apache-2.0
"""Temporary folders of a program's own: they go when it ends.

Of a program that was killed they stay until the next one of ours: in each is a file that its
program holds locked as long as it lives.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile

_PREFIX = "stoker-"
_OWNED = ".stoker-owned"
_held: dict[str, tuple[int, int]] = {}
"""The folders of this program: by whom each was made, and the lock that says so."""


def make_temporary_dir() -> str:
    """A new folder that is there until this program ends, or `remove_temporary_dir`."""
    remove_abandoned_dirs()
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    _held[folder] = os.getpid(), _lock(folder)
    return folder


def remove_temporary_dir(folder: str) -> None:
    """Remove a folder of this module's, with all that is in it."""
    _, descriptor = _held.pop(folder, (0, -1))
    if descriptor >= 0:
        os.close(descriptor)
    shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned_dirs() -> None:
    """Remove what killed programs have left in the temporary folder of this one.

    Links to roots that are no longer there go too: `surroundings` makes them.
    """
    with os.scandir(tempfile.gettempdir()) as entries:
        found = [one for one in entries if one.name.startswith(_PREFIX)]
    for entry in found:
        with contextlib.suppress(OSError):  # of another user, or gone by now
            if entry.is_symlink():
                if not os.path.exists(entry.path) and os.lstat(entry.path).st_uid == os.getuid():
                    os.unlink(entry.path)
            elif _is_abandoned(entry.path):
                shutil.rmtree(entry.path, ignore_errors=True)


def _lock(folder: str) -> int:
    """The descriptor that holds the lock; where there are no locks, nobody knows whose it is."""
    making = os.path.join(folder, f"{_OWNED}-soon")
    descriptor = os.open(making, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        os.write(descriptor, _name_machine())
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(making, os.path.join(folder, _OWNED))  # never seen unlocked
    except OSError:
        os.close(descriptor)
        os.unlink(making)
        return -1
    return descriptor


def _is_abandoned(folder: str) -> bool:
    try:
        descriptor = os.open(os.path.join(folder, _OWNED), os.O_RDWR)
    except OSError:  # not one of these, or another user's
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.read(descriptor, 1_000) == _name_machine()  # others may not see its locks
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _name_machine() -> bytes:
    return os.uname().nodename.encode()


@atexit.register
def _remove_all() -> None:
    for folder, (process, _) in list(_held.items()):
        if process == os.getpid():  # a fork that ends leaves its parent's alone
            remove_temporary_dir(folder)
