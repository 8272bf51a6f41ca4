# SPDX-License-Identifier: Apache-2.0
"""Digests of files that no step made; a file is read again only when its stat has changed."""

import contextlib
import hashlib
import json
import os
import time

from stoker.storage.files import write_whole

# A file that changed just before it was read may change again without its time moving on.
_SETTLED_SECONDS = 2.0


class FileDigests:
    """SHA-256 of files; what is known is kept in a JSON file from run to run."""

    def __init__(self, memory_file: str) -> None:
        self._memory_file = memory_file
        self._known: dict[str, tuple[str, str]] = {}
        self._changed = False
        with (
            contextlib.suppress(FileNotFoundError, json.JSONDecodeError),
            open(memory_file) as file,
        ):
            self._known = {path: (stat, digest) for path, (stat, digest) in json.load(file).items()}

    def __call__(self, path: str) -> str:
        """The digest of a file's content; "missing" if there is no such file."""
        path = os.path.abspath(path)
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return "missing"
        seen = f"{found.st_size} {found.st_mtime_ns} {found.st_ino} {found.st_dev}"
        stat, digest = self._known.get(path, ("", ""))
        if stat == seen:
            return digest
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if time.time() - found.st_mtime > _SETTLED_SECONDS:
            self._known[path] = (seen, digest)
            self._changed = True
        return digest

    def save(self) -> None:
        """Keep what is known; another run that saves at the same time loses nothing but time."""
        if not self._changed:
            return
        with write_whole(self._memory_file, durable=False) as file:
            file.write(json.dumps(self._known).encode())
        self._changed = False
