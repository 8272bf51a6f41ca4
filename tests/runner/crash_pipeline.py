"""The pipeline that the crash tests kill: light steps that write several files, then a push."""

import sys
from pathlib import Path

from stoker.artifacts import Examples, Model
from stoker.components.pusher import Pusher
from stoker.dsl import InputArtifact, OutputArtifact, Parameter, Pipeline, component
from stoker.dsl.proto.pusher_pb2 import PushDestination
from stoker.runner import LocalDagRunner


@component
def write(examples: OutputArtifact[Examples], salt: Parameter[str]):
    examples.splits = ["train"]
    folder = Path(examples.path(split="train"))
    folder.mkdir()
    for number in range(20):
        (folder / f"part-{number}").write_text(salt * 1000)


@component
def fit(examples: InputArtifact[Examples], model: OutputArtifact[Model]):
    folder = Path(model.uri, "Format-Serving")
    folder.mkdir()
    parts = sorted(Path(examples.path(split="train")).iterdir())
    for number in range(20):
        (folder / f"weights-{number}").write_text(parts[number].read_text())
    (folder / "complete").write_text(str(len(parts)))


def main(root: str, salt: str) -> None:
    writing = write(salt=salt)
    fitting = fit(examples=writing.outputs["examples"])
    destination = PushDestination(
        filesystem=PushDestination.Filesystem(base_directory=str(Path(root, "served")))
    )
    pushing = Pusher(model=fitting.outputs["model"], push_destination=destination)
    LocalDagRunner().run(
        Pipeline("crash", root, components=[writing, fitting, pushing], enable_cache=True)
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
