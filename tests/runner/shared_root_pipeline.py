# SPDX-License-Identifier: Apache-2.0
"""The pipeline that users share: `shared_root_pipeline.py ROOT [killed]`, without TensorFlow.

The training leaves something for the next one, as TensorFlow would: in a folder that only its
maker may write to. It says whether it went on from what another one left.
"""

import sys
from pathlib import Path

from stoker.artifacts import Examples
from stoker.components.pusher import Pusher
from stoker.components.trainer.component import Trainer
from stoker.dsl import OutputArtifact, Pipeline, component
from stoker.dsl.proto.pusher_pb2 import PushDestination
from stoker.dsl.proto.trainer_pb2 import TrainArgs
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner

MODULE = """
import os, signal, sys
from pathlib import Path
from stoker.training.resume.checkpoints import draw_seed

def run_fn(fn_args):
    seed = draw_seed(fn_args.checkpoint_dir)
    trials = Path(fn_args.checkpoint_dir, "trials")
    went_on = trials.exists()
    trials.mkdir(0o755, exist_ok=True)
    Path(trials, str(os.getpid())).touch()
    if hasattr(sys, "is_to_be_killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    os.makedirs(fn_args.serving_model_dir)
    Path(fn_args.serving_model_dir, "saved_model.pb").write_text(f"{seed} {went_on}")
    print("went on" if went_on else "began")
"""


@component
def generate(examples: OutputArtifact[Examples]):
    examples.splits = ["train", "eval"]
    for split in examples.splits:
        Path(examples.path(split=split)).mkdir()
        Path(examples.path(split=split), "part").write_text("records")


def main(root: str, *killed: str) -> None:
    module = Path(root, "module.py")
    if not module.exists():
        module.write_text(MODULE)
    if killed:
        sys.is_to_be_killed = True  # which does not count, as a variable or a file would
    generating = generate()
    training = Trainer(
        module_file=str(module),
        examples=generating.outputs["examples"],
        train_args=TrainArgs(num_steps=1),
        check=False,
    )
    served = PushDestination.Filesystem(base_directory=str(Path(root, "served")))
    pushing = Pusher(
        model=training.outputs["model"], push_destination=PushDestination(filesystem=served)
    )
    pipeline = Pipeline("shared", root, components=[generating, training, pushing])
    pipeline.enable_cache = True
    LocalDagRunner(InProcess()).run(pipeline)


if __name__ == "__main__":
    main(*sys.argv[1:])
