# SPDX-License-Identifier: Apache-2.0
"""What watching costs: the same `fit` with and without it, in turns, in one process per Keras.

python benchmarks/watching.py

Both sides train with verbose=0, so that Keras's own bar, which watching replaces, does not count.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from stoker.user_module.fn_args import FnArgs
from stoker.watching import watch

NUM_PAIRS = 11
MODELS = {"small": (8, 1000), "larger": (512, 60)}
"""The width of the model, and how many steps one fit takes."""


def main() -> None:
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]))
        return
    print(
        f"medians of {NUM_PAIRS} pairs           steps/s    wall with/without    CPU with/without"
    )
    for keras in (2, 3):
        environ = {
            **os.environ,
            "TF_USE_LEGACY_KERAS": "1" if keras == 2 else "0",
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        command = [sys.executable, __file__, str(keras)]
        subprocess.run(command, check=True, env=environ, stderr=subprocess.DEVNULL)


def measure(keras: int) -> None:
    for name, (width, steps) in MODELS.items():
        model, data = compiled(width), batches()
        model.fit(data, steps_per_epoch=steps, verbose=0)
        without: list[tuple[float, float]] = []
        watched: list[tuple[float, float]] = []
        for pair in range(NUM_PAIRS):
            sides = [(without, False), (watched, True)]
            for times, enabled in sides if pair % 2 else reversed(sides):
                times.append(timed_fit(model, data, steps, keras=keras, enabled=enabled))
        wall, cpu = (
            statistics.median(w / wo for w, wo in zip(*columns, strict=True))
            for columns in zip(zip(*watched, strict=True), zip(*without, strict=True), strict=True)
        )
        speed = steps / statistics.median(seconds for seconds, _ in without)
        print(f"Keras {keras}, {name:8} model {speed:10,.0f} {wall:20.3f} {cpu:20.3f}", flush=True)


def timed_fit(
    model: Any, data: Any, steps: int, *, keras: int, enabled: bool
) -> tuple[float, float]:
    with (
        tempfile.TemporaryDirectory() as folder,
        open(os.devnull, "w") as channel,
        watch(
            FnArgs(model_run_dir=folder),
            keras=keras,
            report=lambda record: print(json.dumps(record), file=channel, flush=True),
            enabled=enabled,
        ),
    ):
        wall, cpu = time.perf_counter(), time.process_time()
        model.fit(data, steps_per_epoch=steps, verbose=0)
        return time.perf_counter() - wall, time.process_time() - cpu


def compiled(width: int) -> Any:
    import tensorflow as tf

    layers = tf.keras.layers
    hidden = [layers.Dense(width, activation="relu") for _ in range(2)]
    model = tf.keras.Sequential([*hidden, layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", metrics=["mae"])
    return model


def batches() -> Any:
    import tensorflow as tf

    x = tf.random.stateless_uniform([256, 16], seed=[1, 2])
    y = tf.reduce_sum(x, axis=1, keepdims=True)
    return tf.data.Dataset.from_tensors((x, y)).repeat()


if __name__ == "__main__":
    main()
