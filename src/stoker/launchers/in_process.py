# SPDX-License-Identifier: Apache-2.0
"""The launcher for debuggers: every task in this process, one after the other."""

import os
import sys
import tempfile
from bdb import BdbQuit
from collections.abc import Iterable
from typing import ClassVar

from stoker.any_python.forking import get_saved_step
from stoker.any_python.launcher_link import set_sink
from stoker.launchers import Watcher
from stoker.launchers.fork_server import prepare
from stoker.launchers.worker import execute
from stoker.patches.tensorflow_keras import has_keras_2
from stoker.task import Outcome, ProcessNeeds, Task
from stoker.user_code.imports import scan


class InProcess:
    """Runs each task in the runner's own process, so that breakpoints in user code are hit.

    What TensorFlow keeps per process stays from one step to the next; one process has one Keras.
    """

    SHARES_TERMINAL: ClassVar = True
    """A debugger may be at the terminal: the runner draws nothing there."""

    def prepare(self, needs: Iterable[ProcessNeeds]) -> None:
        """Refuse a pipeline that needs two versions of Keras, or another interpreter."""
        needed = list(needs)
        if any(one.python for one in needed):
            raise ValueError(
                "Trainer(python=…) runs in another interpreter, and InProcess runs every step in "
                "this one. Use the default launcher."
            )
        wanted = {one.keras for one in needed if one.keras}
        if len(wanted) > 1:
            raise ValueError(
                "This pipeline needs Keras 2 and Keras 3, and one process has only one. "
                "Use the default launcher, or set Trainer(keras=…) to the same for all."
            )

    def launch(self, task: Task, watcher: Watcher) -> Outcome:
        """Run a task here; what it prints goes where this process prints."""
        if "tensorflow" in sys.modules:
            _check_keras(task.needs)
        else:
            prepare(task.needs)
        if task.user_file:
            forget_modules(task.user_file)
        paths, argv = list(sys.path), list(sys.argv)
        tmpdir, temporary_dir = os.environ.get("TMPDIR"), tempfile.tempdir
        set_sink(watcher.event)
        if left_out := _list_left_out(task):
            text = f"InProcess runs the step in this process, without its {' and '.join(left_out)}"
            watcher.event({"kind": "warning", "text": text})
        try:
            outcome = execute(Task.from_json(task.to_json()))
            has_quit = outcome.failure and outcome.failure.kind == BdbQuit.__name__
            return Outcome(canceled=True) if has_quit else outcome  # `q` in the debugger
        except KeyboardInterrupt:
            return Outcome(canceled=True, saved_step=get_saved_step())
        finally:
            sys.path[:], sys.argv = paths, argv
            tempfile.tempdir = temporary_dir
            os.environ.pop("TMPDIR", None)
            os.environ.update({"TMPDIR": tmpdir} if tmpdir is not None else {})
            set_sink(None)

    def close(self) -> None:
        """Nothing to end."""


def _list_left_out(task: Task) -> list[str]:
    """What is asked for a task that takes processes of its own."""
    asked = {
        "workers": task.has_workers,
        "retries": task.retries,
        "time limit": task.timeout_seconds,
    }
    return [what for what, is_asked in asked.items() if is_asked]


_loaded_before: dict[str, frozenset[str]] = {}
"""For each of the user's files, the names in sys.modules before it was first loaded."""


def forget_modules(file: str) -> None:
    """Drop what an earlier load of a user's file brought in, so that edits are seen."""
    if file not in _loaded_before:
        _loaded_before[file] = frozenset(sys.modules)
        return
    kept, local = _loaded_before[file], set(scan(file).files)
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        if name not in kept and origin and os.path.abspath(origin) in local:
            del sys.modules[name]


def _check_keras(needs: ProcessNeeds) -> None:
    loaded = has_keras_2()
    if needs.keras and loaded != (needs.keras == 2):
        raise ValueError(
            f"This process has loaded TensorFlow with Keras {2 if loaded else 3}, but the step "
            f"needs Keras {needs.keras} ({needs.reason}). Start a new process, or use "
            "the default launcher."
        )
