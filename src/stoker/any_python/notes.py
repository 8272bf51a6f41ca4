# SPDX-License-Identifier: Apache-2.0
"""What a step's code reads besides its inputs and parameters, noted while it runs.

Each note is a name and a value: a part of the step's cache key that is known only afterwards.

    flag lr              --lr=0.1, as the program was given it
    command line         a digest
    variable LR          a digest: it may be a secret
    variables            a digest of the names, where all of them were listed
    file /p/a.json       a digest of its content, `missing`, or of a large file its size and time
    presence of /p/b     `there` or `missing`, where that is all that was asked
    folder /p            a digest of the names in it

A note is written to a journal at once, so that a process that is killed leaves what it has read;
and so does one that was forked from it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import socket
import stat
from typing import Callable, Dict, Iterable

FLAG, VARIABLE, FILE, FOLDER, PRESENCE = "flag ", "variable ", "file ", "folder ", "presence of "
COMMAND_LINE, VARIABLES = "command line", "variables"
CHANGED = "changed while it was read"

Notes = Dict[str, str]

_LARGE_BYTES = 64 << 20


def describe_file(path: str, digest: Callable[[str], str]) -> str:
    """A file as a note has it; `digest` gives that of its content."""
    try:
        found = os.stat(path)
        if stat.S_ISREG(found.st_mode) and found.st_size <= _LARGE_BYTES:
            return digest(path)
    except (OSError, ValueError):
        return "missing"
    if stat.S_ISREG(found.st_mode):
        return f"{found.st_size} bytes of {found.st_mtime_ns}, {found.st_ctime_ns}"
    return "a folder" if stat.S_ISDIR(found.st_mode) else "no file"


def describe_folder(path: str, others: Iterable[str]) -> str:
    """A folder's names as a note has them, without hidden ones and without the folders `others`."""
    apart = set(others)
    try:
        names = sorted(
            name
            for name in os.listdir(path)
            if not name.startswith((".", "__pycache__")) and os.path.join(path, name) not in apart
        )
    except OSError:
        return "missing"
    return digest_text("\n".join(names))


def is_file(path: str) -> bool:
    """As os.path.isfile, which would be noted itself."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def describe_presence(path: str) -> str:
    """Whether there is anything at a path, as a note has it."""
    return "there" if os.path.lexists(path) else "missing"


def digest_text(text: str) -> str:
    """A short digest."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]


def digest_file(path: str) -> str:
    """The digest of a file's content."""
    content = hashlib.sha256()
    with open(path, "rb") as file:
        for part in iter(functools.partial(file.read, 1 << 20), b""):
            content.update(part)
    return content.hexdigest()


def read_journals(folder: str) -> Notes:
    """What the processes of a step have noted, those of earlier attempts included."""
    notes: Notes = {}
    with contextlib.suppress(FileNotFoundError):
        for journal in sorted(os.listdir(folder)):
            with open(os.path.join(folder, journal), encoding="utf-8") as file:
                _read_journal(file, notes)
    return notes


def _read_journal(lines: Iterable[str], notes: Notes) -> None:
    for line in lines:
        if not line.endswith("\n"):  # the process was killed while it wrote
            return
        name, value = json.loads(line)
        if value is None:
            notes.pop(name, None)
        elif notes.setdefault(name, value) != value:
            notes[name] = CHANGED


class Journal:
    """Where a process writes its notes; the forks of that process write there too."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{socket.gethostname()}-{os.getpid()}.jsonl")
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self._unwritten = b""

    def write(self, name: str, value: str | None) -> None:
        """Write one note; None takes it back. What a full disk refuses is tried again."""
        self._unwritten += (json.dumps([name, value]) + "\n").encode()
        with contextlib.suppress(OSError):  # whoever reads a file must not fail for the note
            self._flush()

    def close(self) -> None:
        """Write no more; raises OSError if something could not be written."""
        try:
            self._flush()
        finally:
            os.close(self._descriptor)

    def _flush(self) -> None:
        while self._unwritten:
            self._unwritten = self._unwritten[os.write(self._descriptor, self._unwritten) :]
