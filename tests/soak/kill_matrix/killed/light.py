# SPDX-License-Identifier: Apache-2.0
"""`python light.py SCENARIO ROOT SALT`: steps that write several files, then a push.

Most of what can go wrong is not about TensorFlow; without it, a kill takes a second.
"""

import os
import sys

from stoker.artifacts import Examples, Model
from stoker.components.pusher import Pusher
from stoker.dsl import InputArtifact, OutputArtifact, Parameter, Pipeline, component
from stoker.dsl.proto.pusher_pb2 import PushDestination
from stoker.runner import LocalDagRunner

NUM_FILES = 20


@component
def write(examples: OutputArtifact[Examples], salt: Parameter[str]) -> None:
    """Some files, so that there are moments between the first and the last."""
    for number in range(NUM_FILES):
        with open(os.path.join(examples.uri, f"part-{number}"), "w") as file:
            file.write(f"{salt} " * 1000)


@component
def fit(examples: InputArtifact[Examples], model: OutputArtifact[Model]) -> None:
    """What was read, and in a file of its own how many words, which no salt changes."""
    folder = os.path.join(model.uri, "Format-Serving")
    os.mkdir(folder)
    for name in sorted(os.listdir(examples.uri)):
        with open(os.path.join(examples.uri, name)) as part:
            text = part.read()
        with open(os.path.join(folder, f"weights-{name}"), "w") as file:
            file.write(str(len(text.split())))
        with open(os.path.join(folder, f"copy-of-{name}"), "w") as file:
            file.write(text)


def create_pipeline(name: str, root: str, salt: str) -> Pipeline:
    writing = write(salt=salt)
    fitting = fit(examples=writing.outputs["examples"])
    served = PushDestination.Filesystem(base_directory=os.path.join(root, "served"))
    pushing = Pusher(
        model=fitting.outputs["model"], push_destination=PushDestination(filesystem=served)
    )
    return Pipeline(name, root, components=[writing, fitting, pushing], enable_cache=True)


if __name__ == "__main__":
    LocalDagRunner().run(create_pipeline(*sys.argv[1:]))
