# SPDX-License-Identifier: Apache-2.0
"""Runs the pipeline of notes up to a moment, and stops: `killed_notes.py ROOT MOMENT`.

MOMENT is what is printed then: `prepare` before a step, `launch` when it begins, `[1/2]` after it.
"""

import io
import os
import signal
import sys
from pathlib import Path

import note_pipeline

from stoker.dsl import Pipeline
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner


class StopsAt(io.StringIO):
    """A place to print to, where one text is the last."""

    def __init__(self, last: str) -> None:
        super().__init__()
        self._last = last

    def write(self, text: str) -> int:
        if self._last in text:
            os.kill(os.getpid(), signal.SIGSTOP)
        return super().write(text)


class Talkative(InProcess):
    """Says what it does."""

    def prepare(self, needs):
        if Path(root, "metadata.db").exists():  # else the run is not recorded yet
            print("prepare")
        super().prepare(needs)

    def launch(self, task, watcher):
        print("launch")
        return super().launch(task, watcher)


root, moment = sys.argv[1:]
sys.stdout = sys.stderr = StopsAt(moment)
writing = note_pipeline.write(text="hello")
counting = note_pipeline.count(note=writing.outputs["note"])
LocalDagRunner(Talkative()).run(Pipeline("notes", root, components=[writing, counting]))
