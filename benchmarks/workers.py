# SPDX-License-Identifier: Apache-2.0
"""How soon a worker group is up, how fast it trains by its size, and what it waits for.

python benchmarks/workers.py

Every worker group is forked from one warm fork server, so that importing TensorFlow does not count.
All share the processors of this machine: what more machines would add is not measured here, only
what it costs to bring their gradients together.
"""

import json
import os
import tempfile
import textwrap
import time
from typing import Any

from stoker.artifacts import Examples
from stoker.components.trainer.component import Trainer
from stoker.dsl import Pipeline, as_channel
from stoker.dsl.proto.trainer_pb2 import TrainArgs
from stoker.launchers.processes import Processes
from stoker.runner import LocalDagRunner
from stoker.runner.steps import Steps
from stoker.task import Workers

COUNTS = (1, 2, 3)
NUM_STEPS = 300
MODULE = """
    import json
    import os
    import resource
    import time

    import numpy
    import tensorflow as tf
    KERAS

    BATCH_SIZE = 256


    def cpu_seconds():
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime


    def seconds_per_reduce(strategy, num_bytes):
        zeros = tf.zeros([num_bytes // 4])

        @tf.function
        def reduce():
            local = strategy.run(lambda: zeros + 1.0)
            return strategy.reduce("SUM", local, axis=None)[0]

        reduce()
        times = []
        for _ in range(20):
            began = time.perf_counter()
            reduce().numpy()
            times.append(time.perf_counter() - began)
        return min(times)


    def run_fn(fn_args):
        called = time.time()
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        joined, cpu_of_start = time.time(), cpu_seconds()
        x = numpy.random.default_rng(1).random((4096, 64), dtype="float32")
        data = tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1)))
        sharding = tf.data.Options()
        policy = tf.data.experimental.AutoShardPolicy.DATA
        sharding.experimental_distribute.auto_shard_policy = policy
        data = data.batch(BATCH_SIZE).cache().repeat().with_options(sharding)
        with strategy.scope():
            hidden = [keras.layers.Dense(256, activation="relu") for _ in range(3)]
            model = keras.Sequential([keras.Input((64,)), *hidden, keras.layers.Dense(1)])
            model.compile("adam", "mse")
        model.fit(data, steps_per_epoch=10)
        began, cpu = time.perf_counter(), cpu_seconds()
        model.fit(data, steps_per_epoch=fn_args.train_steps)
        found = {
            "called": called,
            "joined": joined,
            "cpu_of_start": cpu_of_start,
            "steps_per_second": fn_args.train_steps / (time.perf_counter() - began),
            "cpu_per_step": (cpu_seconds() - cpu) / fn_args.train_steps,
            "parameters": model.count_params(),
            "reduce": {str(size): seconds_per_reduce(strategy, size) for size in SIZES},
        }
        os.makedirs(fn_args.serving_model_dir)
        with open(os.path.join(fn_args.serving_model_dir, "found.json"), "w") as file:
            json.dump(found, file)
"""
SIZES = (1_000, 1_000_000, 16_000_000)
KERAS = {2: "from tensorflow import keras", 3: "import keras"}


class KeptWarm(Processes):
    """A launcher for several runs."""

    def close(self) -> None:
        """Not yet: the next run wants the same fork server."""


def main() -> None:
    load = os.getloadavg()[0]
    launcher = KeptWarm()
    print(f"{os.cpu_count()} processors, load {load:.1f} before we started")
    with tempfile.TemporaryDirectory() as folder:
        for keras in KERAS:
            train(launcher, folder, keras, 1, num_steps=10)  # waits for the fork server
            for count in COUNTS:
                show(keras, count, train(launcher, folder, keras, count))
    Processes.close(launcher)


def train(
    launcher: Processes, folder: str, keras: int, count: int, num_steps: int = NUM_STEPS
) -> dict[str, Any]:
    """What the chief has measured, and how long it took from the step's begin to a joined group."""
    module_file = os.path.join(folder, f"keras_{keras}.py")
    with open(module_file, "w", encoding="utf-8") as file:
        text = textwrap.dedent(MODULE).replace("KERAS", KERAS[keras])
        file.write(text.replace("SIZES", repr(SIZES)))
    data = Examples()
    data.uri, data.splits = folder, ["train", "eval"]
    trainer = Trainer(
        examples=as_channel([data]),
        module_file=module_file,
        train_args=TrainArgs(num_steps=num_steps),
        workers=Workers(count),
        check=False,
    )
    pipeline = Pipeline("workers", tempfile.mkdtemp(dir=folder), components=[trainer])
    reached = []
    work_on = Steps.work_on

    def timed(steps: Any, node: Any) -> Any:
        reached.append(time.time())
        return work_on(steps, node)

    setattr(Steps, "work_on", timed)  # noqa: B010
    try:
        run = LocalDagRunner(launcher).run(pipeline)
    finally:
        setattr(Steps, "work_on", work_on)  # noqa: B010
    uri = run.outputs["Trainer"]["model"][0].uri
    with open(os.path.join(uri, "Format-Serving", "found.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return {**found, "up": found["joined"] - reached[0]}


def show(keras: int, count: int, found: dict[str, Any]) -> None:
    reduces = "  ".join(
        f"{int(size) // 1000:,} kB in {1000 * seconds:.2f} ms"
        for size, seconds in found["reduce"].items()
    )
    print(
        f"Keras {keras}, {count} process{'es' * (count > 1)}: up and joined after "
        f"{found['up']:.2f} s ({found['cpu_of_start']:.2f} s of CPU), "
        f"{found['steps_per_second']:.0f} steps/s, "
        f"{1000 * found['cpu_per_step']:.1f} ms of CPU per step and process "
        f"({found['parameters']:,} weights)\n    all-reduce: {reduces}",
        flush=True,
    )


if __name__ == "__main__":
    main()
