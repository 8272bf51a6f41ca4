# SPDX-License-Identifier: Apache-2.0
"""What checkpoints cost: the share of a fit's time that is spent on saving, and one of them.

python benchmarks/resume.py

Checkpoints are taken at the pace that Stoker chooses by itself, for SECONDS of training. Size is
that of a checkpoint on disk: the weights, and twice as much for the slots of Adam.
"""

import os
import sys
import tempfile
import time
from typing import Any

from small_model import batches, compiled, with_each_keras

from stoker.training import watch
from stoker.training.resume.checkpoints import CheckpointSchedule
from stoker.user_code.fn_args import FnArgs

SECONDS = 30
WIDTHS = {"small": 8, "larger": 512, "large": 2048}


def main() -> None:
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]))
        return
    print("                     size, MB    one takes, ms    in a fit    of its time")
    with_each_keras(__file__)


def measure(keras: int) -> None:
    times = timed_saves()
    for name, width in WIDTHS.items():
        times.clear()
        with tempfile.TemporaryDirectory() as folder:
            taken = timed_fit(compiled(width, "adam"), folder=folder)
            size = largest_file(folder) / 1e6
        each, share = sum(times) / len(times) * 1e3, sum(times) / taken
        figures = f"{size:10,.1f} {each:14,.0f} {len(times):12} {share:13.2%}"
        print(f"Keras {keras}, {name:7} {figures}", flush=True)


def timed_saves() -> list[float]:
    """How long each checkpoint took, from now on."""
    times: list[float] = []
    wrote = CheckpointSchedule.note_written

    def noted(schedule: CheckpointSchedule, *, began: float, ended: float) -> None:
        times.append(ended - began)
        wrote(schedule, began=began, ended=ended)

    CheckpointSchedule.note_written = noted  # type: ignore[assignment, method-assign]
    return times


def timed_fit(model: Any, *, folder: str) -> float:
    import tensorflow as tf

    def stop_in_time(*_: Any, **__: Any) -> None:
        if time.perf_counter() - began > SECONDS:
            model.stop_training = True

    stop = tf.keras.callbacks.LambdaCallback(on_train_batch_end=stop_in_time)
    with watch(FnArgs(checkpoint_dir=folder), report=lambda _: None):
        began = time.perf_counter()
        model.fit(batches(), steps_per_epoch=10**6, verbose=0, callbacks=[stop])
        return time.perf_counter() - began


def largest_file(folder: str) -> int:
    paths = (os.path.join(top, name) for top, _, names in os.walk(folder) for name in names)
    return max(os.path.getsize(path) for path in paths)


if __name__ == "__main__":
    main()
