# SPDX-License-Identifier: Apache-2.0
"""A pipeline of two steps without TensorFlow, for commands to look at."""

from pathlib import Path

from stoker.artifacts import Artifact
from stoker.dsl import InputArtifact, OutputArtifact, OutputDict, Parameter, Pipeline, component
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner


class Note(Artifact):
    TYPE_NAME = "Note"


@component
def write(note: OutputArtifact[Note], text: Parameter[str], config: Parameter[str] = "{}"):
    Path(note.uri, "note.txt").write_text(text)


@component
def count(note: InputArtifact[Note]) -> OutputDict(length=int):
    return {"length": len(Path(note.uri, "note.txt").read_text())}


@component
def compare(first: int, second: int, note: InputArtifact[Note]) -> OutputDict(same=bool):
    return {"same": first == second}


@component
def fail_late(note: OutputArtifact[Note]):
    Path(note.uri, "half").write_text("x" * 1000)
    raise OSError("the disk is full")


def run_notes(root, text="hello", **given):
    """One run of the pipeline, cached where nothing changed."""
    writing = write(text=text, **given)
    counting = count(note=writing.outputs["note"])
    pipeline = Pipeline("notes", str(root), components=[writing, counting], enable_cache=True)
    return LocalDagRunner(InProcess()).run(pipeline)


def fail_notes(root):
    """One run that fails after its step has written something."""
    LocalDagRunner(InProcess()).run(Pipeline("notes", str(root), components=[fail_late()]))
