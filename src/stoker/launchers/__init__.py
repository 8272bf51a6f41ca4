# SPDX-License-Identifier: Apache-2.0
"""WHERE a task runs: in this process, or in fresh ones."""

from collections.abc import Iterable
from typing import Any, Protocol

from stoker.task import Outcome, ProcessNeeds, Task

__all__ = ["Launcher", "Watcher"]


class Watcher(Protocol):
    """Who sees what a task does while it runs."""

    def output(self, data: bytes, *, error: bool) -> None:
        """The task printed something."""

    def event(self, record: dict[str, Any]) -> None:
        """The task reported on its progress."""


class Launcher(Protocol):
    """Where tasks run. `prepare` may warm things up; `launch` runs one task to its end."""

    def prepare(self, needs: Iterable[ProcessNeeds]) -> None:
        """Get ready for tasks whose processes need this."""

    def launch(self, task: Task, watcher: Watcher) -> Outcome:
        """Run a task; never raise for what the user's code did."""

    def close(self) -> None:
        """Leave nothing running."""
