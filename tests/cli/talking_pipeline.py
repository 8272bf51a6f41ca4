# SPDX-License-Identifier: Apache-2.0
"""A step that says one thing, waits, and says another: `talking_pipeline.py ROOT GATE`."""

import sys
import time
from pathlib import Path

from stoker.artifacts import Artifact
from stoker.dsl import OutputArtifact, Parameter, Pipeline, component
from stoker.runner import LocalDagRunner


class Note(Artifact):
    TYPE_NAME = "Note"


@component
def talk(note: OutputArtifact[Note], gate: Parameter[str]):
    print("first", flush=True)
    while not Path(gate).exists():
        time.sleep(0.05)
    print("second", flush=True)


if __name__ == "__main__":
    root, gate = sys.argv[1:]
    pipeline = Pipeline("talks", root, components=[talk(gate=gate)], enable_cache=True)
    LocalDagRunner().run(pipeline)
