# SPDX-License-Identifier: Apache-2.0
"""What watching costs: the same `fit` with and without it, in turns, in one process per Keras.

python benchmarks/watching.py

Both sides train with verbose=0, so that Keras's own bar, which watching replaces, does not count.
The last column is the share of a watched fit's time that is spent in the hooks of the watcher, the
clock that measures it included: it does not depend on what else the machine does.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from small_model import batches, compiled, with_each_keras

from stoker.training import watch
from stoker.training.fit_progress import _FitProgress
from stoker.user_code.fn_args import FnArgs

NUM_PAIRS = 7
MODELS = {"small": (8, 2000), "larger": (512, 150)}
"""The width of the model, and how many steps one fit takes."""


def main() -> None:
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]))
        return
    print(f"with : without, {NUM_PAIRS} pairs           wall              CPU        in the hooks")
    print("                    steps/s    median   best    median   best")
    with_each_keras(__file__)


def measure(keras: int) -> None:
    spent = timed_hooks()
    for name, (width, steps) in MODELS.items():
        model, data = compiled(width, "sgd"), batches()
        times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        before = spent["seconds"]
        for pair in range(NUM_PAIRS + 1):
            for watched in (True, False) if pair % 2 else (False, True):
                taken = timed_fit(model, data, steps, enabled=watched)
                if pair:  # the first pair compiles and imports
                    times[watched].append(taken)
                else:
                    before = spent["seconds"]
        ratios = [
            best_or_middle(side(True)) / best_or_middle(side(False))
            for side in (partial(column, times, 0), partial(column, times, 1))
            for best_or_middle in (statistics.median, min)
        ]
        speed = steps / statistics.median(column(times, 0, False))
        figures = "   ".join(f"{ratio:.3f}" for ratio in ratios)
        share = (spent["seconds"] - before) / sum(column(times, 0, True))
        print(f"Keras {keras}, {name:7} {speed:9,.0f}     {figures}    {share:.2%}", flush=True)


def timed_hooks() -> dict[str, float]:
    """How long the watcher's hooks have taken, counted from now on."""
    spent = {"seconds": 0.0}

    def timed(hook: Callable[..., None]) -> Callable[..., None]:
        def measured(*args: Any, **kwargs: Any) -> None:
            start = time.perf_counter()
            hook(*args, **kwargs)
            spent["seconds"] += time.perf_counter() - start

        return measured

    for name, hook in list(vars(_FitProgress).items()):
        if name.startswith("on_"):
            setattr(_FitProgress, name, timed(hook))
    return spent


def column(times: dict[bool, list[tuple[float, float]]], index: int, watched: bool) -> list[float]:
    return [row[index] for row in times[watched]]


def timed_fit(model: Any, data: Any, steps: int, *, enabled: bool) -> tuple[float, float]:
    with (
        tempfile.TemporaryDirectory() as folder,
        open(os.devnull, "w") as channel,
        watch(
            FnArgs(model_run_dir=folder),
            report=lambda record: print(json.dumps(record), file=channel, flush=True),
            enabled=enabled,
        ),
    ):
        wall, cpu = time.perf_counter(), time.process_time()
        model.fit(data, steps_per_epoch=steps, verbose=0)
        return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    main()
