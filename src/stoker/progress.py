# SPDX-License-Identifier: Apache-2.0
"""Progress: workers report it, and the runner's console shows it."""

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["Console", "report", "set_sink"]

_sink: Callable[[dict[str, Any]], None] | None = None


def set_sink(sink: Callable[[dict[str, Any]], None] | None) -> None:
    """Say where the reports of this process go."""
    global _sink
    _sink = sink


def report(record: dict[str, Any]) -> None:
    """Tell the runner how far this step is."""
    if _sink:
        _sink(record)


class Console:
    """What a run shows on the terminal."""

    def step(self, text: str) -> None:
        """Say what the runner does."""
        print(text, file=sys.stderr, flush=True)

    def output(self, data: bytes, *, error: bool) -> None:
        """Pass on what a worker printed."""
        stream = sys.stderr if error else sys.stdout
        stream.write(data.decode(errors="replace"))
        stream.flush()

    def event(self, record: dict[str, Any]) -> None:
        """Show how far a worker is."""

    def close(self) -> None:
        """Leave the terminal as it was."""
