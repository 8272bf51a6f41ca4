# SPDX-License-Identifier: Apache-2.0
"""Digests of files that no step made; a file is read again only when its stat has changed."""

import hashlib
import json
import os
import time
from io import FileIO

from stoker.storage.files import set_aside, write_whole

# A file that changed just before it was read may change again without its times moving on.
_SETTLED_SECONDS = 2.0


def read_stamp(path: str) -> str:
    """What changes with a file: size, times and inode; "missing" if there is no such file.

    The time of change is among them. No program can set it back, as `touch -r` and `cp -p` do with
    the time of modification.
    """
    try:
        return _describe_stat(os.stat(path))
    except OSError:
        return "missing"


class FileDigests:
    """SHA-256 of files; what is known is kept in a JSON file from run to run."""

    def __init__(self, memory_file: str) -> None:
        self._memory_file = memory_file
        self._known: dict[str, tuple[str, str]] = {}
        self._changed = False
        self.set_aside = ""
        """The new name of a memory file that was damaged: all is then read again."""
        try:
            self._known = _read_memory(memory_file)
        except (FileNotFoundError, PermissionError):  # another user's, which `save` will replace
            pass
        except (OSError, ValueError, RecursionError):
            self.set_aside = set_aside(memory_file)

    def __call__(self, path: str) -> str:
        """The digest of a file's content; "missing" or "not a file" where it has none."""
        path = os.path.abspath(path)
        if os.path.exists(path) and not os.path.isfile(path):
            return "not a file"  # to open a pipe is to wait for somebody who writes
        try:
            # Opened first: a network file system asks its server then, and not at every stat.
            with FileIO(path) as file:
                return self._digest(path, file)
        except (FileNotFoundError, NotADirectoryError):
            return "missing"

    def _digest(self, path: str, file: FileIO) -> str:
        found = os.fstat(file.fileno())
        known, digest = self._known.get(path, ("", ""))
        if known == _describe_stat(found):
            return digest
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        now = os.fstat(file.fileno())
        if _describe_stat(now) == _describe_stat(found) and _is_settled(now):
            self._known[path] = (_describe_stat(now), digest)
            self._changed = True
        return digest

    def save(self) -> None:
        """Keep what is known; another run that saves at the same time loses nothing but time."""
        if not self._changed:
            return
        with write_whole(self._memory_file, durable=False) as file:
            file.write(json.dumps(self._known).encode())
        self._changed = False


def _read_memory(path: str) -> dict[str, tuple[str, str]]:
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    if not isinstance(record, dict):
        raise ValueError(f"{path} holds no JSON object")
    known = {}
    for name, value in record.items():
        match value:
            case [str(stat), str(digest)]:
                known[name] = stat, digest
            case _:
                raise ValueError(f"{path} holds {value!r} for {name}")
    return known


def _describe_stat(found: os.stat_result) -> str:
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino} {found.st_dev}"


def _is_settled(found: os.stat_result) -> bool:
    """Whether a file's next change is sure to have another time than its last one.

    By the time of change: that of modification may be anything. One in the future, after the clock
    was set back, is never settled.
    """
    return time.time() - found.st_ctime > _SETTLED_SECONDS
