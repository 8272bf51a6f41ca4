# SPDX-License-Identifier: Apache-2.0
"""A file of JSON lines that another process is writing, read as it grows."""

import contextlib
import json
from typing import Any


class GrowingLines:
    """The lines of a file of JSON that grows, each once, and not before it is whole."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._position = 0

    def read_new(self) -> list[dict[str, Any]]:
        """What has come since the last time."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._position += len(whole)
        found = []
        for line in whole.splitlines():
            with contextlib.suppress(ValueError):  # half a line of a process that was killed
                found.append(json.loads(line))
        return [one for one in found if isinstance(one, dict)]
