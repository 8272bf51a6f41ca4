# SPDX-License-Identifier: Apache-2.0
"""A pipeline whose training lasts, for stores on servers: ROOT SECONDS."""

import sys

from stoker import InputArtifact, LocalDagRunner, OutputArtifact, Parameter, Pipeline, component
from stoker.artifacts import Examples, Model


@component
def Make(examples: OutputArtifact[Examples]):
    with open(f"{examples.uri}/examples", "w") as file:
        file.write("examples")


@component
def Train(
    examples: InputArtifact[Examples], model: OutputArtifact[Model], seconds: Parameter[float]
):
    import os
    import time

    print("The variables of a worker:", dict(os.environ))
    with open(f"{examples.uri}/examples") as file, open(f"{model.uri}/model", "w") as written:
        written.write(file.read())
    time.sleep(seconds)


def declare(root: str, seconds: float) -> Pipeline:
    make = Make()
    train = Train(examples=make.outputs["examples"], seconds=seconds)
    return Pipeline("lasting", root, components=[make, train], enable_cache=True)


if __name__ == "__main__":
    LocalDagRunner().run(declare(sys.argv[1], float(sys.argv[2])))
