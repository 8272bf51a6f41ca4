# SPDX-License-Identifier: Apache-2.0
"""WHERE a task runs: in this process, or in fresh ones."""

from collections.abc import Iterable
from typing import Protocol

from stoker.task import Environment, Outcome, Task

__all__ = ["Launcher"]


class Launcher(Protocol):
    """Where tasks run. `prepare` may warm things up; `launch` runs one task to its end."""

    def prepare(self, environments: Iterable[Environment]) -> None:
        """Get ready for tasks that need these environments."""

    def launch(self, task: Task) -> Outcome:
        """Run a task; never raise for what the user's code did."""

    def close(self) -> None:
        """Leave nothing running."""
