# SPDX-License-Identifier: Apache-2.0
"""How fast `fit` trains with several steps per call into TensorFlow, beside one step per call.

    python benchmarks/fit.py [--batches 16 40 …] [--models two wide large taxi] [--rounds 3]

Both train the same model in turns in one process: steps per CPU second, the median of all rounds,
and per second of wall time by the best of them. Timed is the second epoch of a fit: what a fit
costs once, such as tracing, opening its data and finding the number of steps, is left out, so a
short training gains less than this. Their weights are compared at the end.

The model of "taxi" and its way to read are those of examples/taxi, with all that reading costs; the
others train on one batch, which is in memory.

The line "callback" has a callback that looks at every batch. There both do the same, and should be
1.00x: how far it is from that is the noise of the machine, in all other lines too.
"""

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from small_model import with_each_keras

_SECONDS = 1.0
_NUM_FEATURES = 12
_TAXI = Path(__file__).resolve().parent.parent / "examples" / "taxi"


def transform_trips(root: str) -> None:
    """Run the taxi pipeline, for the examples that its model reads."""
    command = [sys.executable, str(_TAXI / "pipeline.py"), f"--root={root}", "--steps=1"]
    subprocess.run(command, check=True, capture_output=True)


def make_taxi_model(keras: int) -> Any:
    import tensorflow as tf

    tf.keras.utils.set_random_seed(1)
    module = importlib.import_module(f"module_keras{keras}")
    return module._build_keras_model() if keras == 2 else module._build_model()


def read_trips(size: int, root: str, keras: int) -> Any:
    import tensorflow_transform as tft

    from stoker.data import accessor

    made = Path(root, "Transform")
    (graph,), (examples,) = made.glob("transform_graph/*"), made.glob("transformed_examples/*")
    module = importlib.import_module(f"module_keras{keras}")
    files = [str(examples / "Split-train" / "*")]
    return module._input_fn(files, accessor, tft.TFTransformOutput(str(graph)), size)


def make_batches(size: int, *, wide: bool) -> Any:
    import tensorflow as tf

    x = tf.random.stateless_uniform([size, _NUM_FEATURES], seed=[1, 2])
    y = tf.reduce_sum(x, axis=1, keepdims=True)
    parts = {f"x{n}": x[:, n : n + 1] for n in range(_NUM_FEATURES)} if wide else x
    return tf.data.Dataset.from_tensors((parts, y)).repeat()


def make_model(kind: str) -> Any:
    import tensorflow as tf

    keras = tf.keras
    layers = keras.layers
    keras.utils.set_random_seed(1)
    if kind == "wide":
        inputs = {f"x{n}": keras.Input((1,), name=f"x{n}") for n in range(_NUM_FEATURES)}
        hidden = layers.concatenate([layers.Dense(4)(one) for one in inputs.values()])
        for units in (32, 16):
            hidden = layers.Dense(units, activation="relu")(hidden)
        model = keras.Model(inputs, layers.Dense(1)(hidden))
    else:
        width = 1024 if kind == "large" else 32
        dense = [layers.Dense(width, activation="relu") for _ in range(2)]
        model = keras.Sequential([keras.Input((_NUM_FEATURES,)), *dense, layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    return model


def time_fit(
    model: Any, data: Any, num_steps: int, *, per_call: int | None, callbacks: list[Any]
) -> tuple[float, float, int]:
    """Wall and CPU seconds of a step, and how many were done per call at the end."""
    from stoker.training import watch
    from stoker.user_code.fn_args import FnArgs

    told: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        fn_args = FnArgs(model_run_dir=f"{folder}/run", checkpoint_dir=f"{folder}/kept")
        with watch(fn_args, report=told.append, steps_per_execution=per_call):
            clock = make_clock()
            given = {"steps_per_epoch": num_steps, "epochs": 2, "verbose": 0}
            model.fit(data, callbacks=[*callbacks, clock], **given)
    wall, cpu = clock.seconds
    last = [one for one in told if one["kind"] == "progress"][-1]
    return wall / num_steps, cpu / num_steps, last["steps_per_call"]


def compare(
    kind: str, size: int, given: argparse.Namespace, make_callbacks: Callable[[], list[Any]]
) -> str:
    if kind == "taxi":
        data = read_trips(size, given.trips, given.keras)
        models = {per_call: make_taxi_model(given.keras) for per_call in (1, None)}
    else:
        data = make_batches(size, wide=kind == "wide")
        models = {per_call: make_model(kind) for per_call in (1, None)}
    times: dict[int | None, list[tuple[float, float, int]]] = {1: [], None: []}
    for per_call, model in models.items():  # tracing, which is not compared
        time_fit(model, data, 20, per_call=per_call, callbacks=make_callbacks())
    step, _, _ = time_fit(models[1], data, 20, per_call=1, callbacks=make_callbacks())
    time_fit(models[None], data, 20, per_call=None, callbacks=make_callbacks())
    num_steps = max(20, min(2000, int(_SECONDS / step)))
    for _ in range(given.rounds):
        for per_call, model in models.items():
            callbacks = make_callbacks()
            times[per_call].append(
                time_fit(model, data, num_steps, per_call=per_call, callbacks=callbacks)
            )
    one, several = times[1], times[None]
    cpu = statistics.median(a[1] / b[1] for a, b in zip(one, several, strict=True))
    wall = min(a[0] for a in one) / min(b[0] for b in several)
    pairs = zip(models[1].get_weights(), models[None].get_weights(), strict=True)
    equal = all((a == b).all() for a, b in pairs)
    return (
        f"{several[-1][2]:>3} per call   {wall:5.2f}x wall   {cpu:5.2f}x CPU   "
        f"{min(a[1] for a in one) * 1e6:7,.0f} -> {min(b[1] for b in several) * 1e6:7,.0f} us CPU "
        f"a step   weights {'equal' if equal else 'DIFFER'}"
    )


def make_clock() -> Any:
    """A callback that times the last epoch, and looks at no batch."""
    import tensorflow as tf

    class Clock(tf.keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
            self.began = time.perf_counter(), time.process_time()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
            wall, cpu = self.began
            self.seconds = time.perf_counter() - wall, time.process_time() - cpu

    return Clock()


def look_at_batches() -> list[Any]:
    import tensorflow as tf

    class Looks(tf.keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            pass

    return [Looks()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("keras", nargs="?", type=int)
    parser.add_argument("--batches", nargs="*", type=int, default=[16, 40, 256, 1024, 4096])
    parser.add_argument("--models", nargs="*", default=["two", "wide", "large"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trips", help="where the taxi's examples are; else they are made")
    given = parser.parse_args()
    sys.path.insert(0, str(_TAXI))
    if given.keras is None:
        with tempfile.TemporaryDirectory() as root:
            if "taxi" in given.models and not given.trips:
                transform_trips(root)
            trips = [] if given.trips else [f"--trips={root}"]
            with_each_keras(os.path.abspath(__file__), *sys.argv[1:], *trips)
        return
    for kind in given.models:
        for size in given.batches:
            told = compare(kind, size, given, list)
            print(f"Keras {given.keras}   {kind:5}   batch {size:5}   {told}", flush=True)
        told = compare(kind, 40, given, look_at_batches)
        print(f"Keras {given.keras}   {kind:5}   callback      {told}", flush=True)


if __name__ == "__main__":
    main()
