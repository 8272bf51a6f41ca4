# SPDX-License-Identifier: Apache-2.0
"""WHERE a task runs: in this process, in fresh ones, or on a cluster.

To add a launcher:

1. Write a class with the three methods of `Launcher` in a file here. Where the process is yours to
   start, have it call `worker.execute`, and send the Outcome back as JSON. With a fourth, `stop`,
   it is given several tasks at once, each from a thread of its own.
2. To run `Trainer(workers=…)`, call `run_worker_group` with a function that gives `Slot`s.
3. Export it in `stoker/__init__.py`, and choose it for `--on` in `cli/run.py`.
"""

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

from stoker.task import Outcome, ProcessNeeds, Task

__all__ = ["Launcher", "SideBySideLauncher", "Watcher"]


class Watcher(Protocol):
    """Who sees what a task does while it runs."""

    def output(self, data: bytes, *, error: bool) -> None:
        """The task printed something."""

    def event(self, record: dict[str, Any]) -> None:
        """The task reported on its progress."""


class Launcher(Protocol):
    """Where tasks run. `prepare` may warm things up; `launch` runs one task to its end.

    Users may write their own. This one runs a task in an interpreter that is started for it:

        class Spawn:
            CODE = '''if True:
                import sys
                from stoker.launchers.worker import execute
                from stoker.task import Task
                with open(sys.argv[1], "w") as answer:
                    answer.write(execute(Task.from_json(sys.stdin.read())).to_json())
            '''

            def prepare(self, needs):
                pass

            def launch(self, task, watcher):
                with tempfile.NamedTemporaryFile("r") as answer:
                    command = [sys.executable, "-c", self.CODE, answer.name]
                    subprocess.run(command, input=task.to_json(), text=True, check=True)
                    return Outcome.from_json(answer.read())

            def close(self):
                pass

        LocalDagRunner(Spawn()).run(pipeline)
    """

    def prepare(self, needs: Iterable[ProcessNeeds]) -> None:
        """Get ready for tasks whose processes need this."""

    def launch(self, task: Task, watcher: Watcher) -> Outcome:
        """Run a task; never raise for what the user's code did."""

    def close(self) -> None:
        """Leave nothing running."""


@runtime_checkable
class SideBySideLauncher(Launcher, Protocol):
    """One whose `launch` may be called from several threads at once."""

    def stop(self) -> None:
        """Let every `launch` end with a canceled Outcome; called again, at once."""
