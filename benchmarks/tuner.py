# SPDX-License-Identifier: Apache-2.0
"""How much sooner a search of eight trials ends when two of them run at once.

python benchmarks/tuner.py

Both sides run the same trials of the same small model, each search in a fresh worker of one warm
fork server, so that importing TensorFlow does not count.
"""

import json
import os
import tempfile
import textwrap
import time
from typing import Any

from stoker.artifacts import Examples
from stoker.components.tuner.component import Tuner
from stoker.dsl import Pipeline, as_channel
from stoker.dsl.proto.tuner_pb2 import TuneArgs
from stoker.launchers.processes import Processes
from stoker.runner import LocalDagRunner

NUM_TRIALS = 8
MODULE = """
    import keras
    import keras_tuner
    import numpy
    from stoker import TunerFnResult


    def build(hparams):
        units = hparams.Choice("units", [32, 48, 64])
        rate = hparams.Float("learning_rate", 1e-4, 1e-2, sampling="log")
        hidden = [keras.layers.Dense(units, activation="relu") for _ in range(3)]
        model = keras.Sequential([keras.Input(shape=(16,)), *hidden, keras.layers.Dense(1)])
        model.compile(optimizer=keras.optimizers.Adam(rate), loss="mse")
        return model


    def tuner_fn(fn_args):
        x = numpy.random.default_rng(1).random((10_000, 16), dtype="float32")
        tuner = keras_tuner.RandomSearch(
            build,
            objective="val_loss",
            max_trials=fn_args.custom_config["num_trials"],
            seed=1,
            directory=fn_args.working_dir,
        )
        data = {"x": x, "y": x.sum(axis=1), "validation_split": 0.1}
        return TunerFnResult(tuner, {**data, "batch_size": 32, "epochs": 3})
"""


class KeptWarm(Processes):
    """A launcher for several runs."""

    def close(self) -> None:
        """Not yet: the next run wants the same fork server."""


def main() -> None:
    load = os.getloadavg()[0]  # of others: with less than two free cores, two trials gain little
    launcher = KeptWarm()
    with tempfile.TemporaryDirectory() as folder:
        search(launcher, folder, num_trials=1)  # the first worker waits for the fork server
        times, trials = zip(
            *(search(launcher, folder, num_parallel=number) for number in (1, 2)), strict=True
        )
    Processes.close(launcher)
    assert trials[0] == trials[1], "the searches differ"
    print(f"{NUM_TRIALS} trials, one after the other {times[0]:6.1f} s")
    print(f"{NUM_TRIALS} trials, two at once         {times[1]:6.1f} s")
    ratio = times[0] / times[1]
    print(f"ratio                        {ratio:6.2f}   ({os.cpu_count()} cores, load {load:.1f})")


def search(
    launcher: Processes, folder: str, *, num_trials: int = NUM_TRIALS, num_parallel: int = 1
) -> tuple[float, Any]:
    """The seconds that the Tuner takes, and the hyperparameters that it has tried."""
    module_file = os.path.join(folder, "module.py")
    with open(module_file, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(MODULE))
    data = Examples()
    data.uri, data.splits = os.path.join(folder, "data"), ["train", "eval"]
    tuner = Tuner(
        examples=as_channel([data]),
        module_file=module_file,
        tune_args=TuneArgs(num_parallel_trials=num_parallel),
        custom_config={"num_trials": num_trials},
    )
    root = tempfile.mkdtemp(dir=folder)
    started = time.perf_counter()
    run = LocalDagRunner(launcher).run(Pipeline("search", root, components=[tuner]))
    taken = time.perf_counter() - started
    uri = run.outputs["Tuner"]["tuner_results"][0].uri
    with open(os.path.join(uri, "tuner_results.json"), encoding="utf-8") as file:
        rows = json.load(file)
    return taken, sorted((row["units"], row["learning_rate"]) for row in rows)


if __name__ == "__main__":
    main()
