# SPDX-License-Identifier: Apache-2.0
"""The log of a step on disk: a disk that takes no more costs lines of it, never the step."""

import os
from collections.abc import Mapping
from typing import Any, BinaryIO

from stoker.launchers import Watcher


class StepLog:
    """Appends to a log; the first time that this fails, the watcher is told."""

    def __init__(self, path: str, watcher: Watcher) -> None:
        self._path = path
        self._watcher = watcher
        self._file: BinaryIO | None = None
        self._is_whole = True
        self.write(b"")  # a step that prints nothing has a log, too

    def write(self, data: bytes) -> None:
        """Append, so that it is in the file when this returns."""
        try:
            if self._file is None:
                os.makedirs(os.path.dirname(self._path), exist_ok=True)
                self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115
            self._file.write(data)
        except OSError as error:
            if self._is_whole:
                self._is_whole = False
                text = f"{self._path} is not whole: {error.strerror}. The step goes on."
                self._watcher.event({"kind": "warning", "text": text})

    def write_event(self, record: Mapping[str, Any]) -> None:
        """Append what the user is told in a line of its own: a note or a warning."""
        if record["kind"] in ("note", "warning"):
            self.write(f"{describe_event(record)}\n".encode(errors="backslashreplace"))

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()
            self._file = None


def describe_event(record: Mapping[str, Any]) -> str:
    """A note or a warning as the line that the user reads."""
    node = f"{record['node']}: " if record.get("node") else ""
    return f"{node}{'warning: ' * (record['kind'] == 'warning')}{record['text']}"
