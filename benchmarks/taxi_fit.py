# SPDX-License-Identifier: Apache-2.0
"""The whole `fit` of the taxi example, in its pipeline, beside the same in another checkout.

    python benchmarks/taxi_fit.py OTHER/src [--steps 1000 10000] [--batches 40 1024] [--rounds 3]

Timed is everything that `fit` does, its tracing, first batch and validation included; `fit.py`
leaves these out, and so does the last line, of the steps by which the longest fit is longer than
the shortest. Checkouts take turns, and each figure is the best of its rounds.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
TAXI = REPOSITORY / "examples" / "taxi"
OURS = str(REPOSITORY / "src")
TIMED = """

import functools as _functools, json as _json, time as _time

def _time_fit(fit):
    @_functools.wraps(fit)
    def timed(*args, **kwargs):
        wall, cpu = _time.perf_counter(), _time.process_time()
        result = fit(*args, **kwargs)
        took = [_time.perf_counter() - wall, _time.process_time() - cpu]
        with open({times!r}, "w") as file:
            _json.dump([*took, result.history["loss"]], file)
        return result
    return timed

_train = run_fn

def run_fn(fn_args):
    model = tf.keras.Model
    model.fit = _time_fit(model.fit)
    _train(fn_args)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", help="the src folder of another checkout")
    parser.add_argument("--steps", nargs="*", type=int, default=[1000, 10_000])
    parser.add_argument("--batches", nargs="*", type=int, default=[40, 1024])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for keras in (2, 3):
        for batch in given.batches:
            best = {
                steps: measure(given.other, keras, batch, steps, given.rounds)
                for steps in sorted(given.steps)
            }
            for steps, (theirs, ours) in best.items():
                print(f"Keras {keras}   batch {batch:5}   {compare(steps, theirs, ours)}")
                assert theirs.losses == ours.losses, f"losses differ: {theirs} {ours}"
            (least, short), *_, (most, long) = best.items()
            theirs, ours = (b.minus(a) for a, b in zip(short, long, strict=True))
            if most > least:
                print(
                    f"Keras {keras}   batch {batch:5}   {compare(most - least, theirs, ours)} more"
                )
            sys.stdout.flush()


class Fit(NamedTuple):
    """Seconds that a fit took, and the losses of its epochs."""

    wall: float
    cpu: float
    losses: list[float]

    def minus(self, other: "Fit") -> "Fit":
        """What this one took longer than another."""
        return Fit(self.wall - other.wall, self.cpu - other.cpu, self.losses)


def measure(other: str, keras: int, batch: int, steps: int, rounds: int) -> tuple[Fit, Fit]:
    """The best of the other checkout, and of this one."""
    turns = [[fit(source, keras, batch, steps) for source in (other, OURS)] for _ in range(rounds)]
    theirs, ours = (
        Fit(min(one.wall for one in own), min(one.cpu for one in own), own[0].losses)
        for own in zip(*turns, strict=True)
    )
    return theirs, ours


def compare(steps: int, theirs: Fit, ours: Fit) -> str:
    wall, cpu = theirs.wall / ours.wall, theirs.cpu / ours.cpu
    return (
        f"{steps:7,} steps   {wall:5.2f}x wall   {cpu:5.2f}x CPU   "
        f"{steps / theirs.wall:6,.0f} -> {steps / ours.wall:6,.0f} steps per second"
    )


def fit(source: str, keras: int, batch: int, steps: int) -> Fit:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "taxi")
        shutil.copytree(TAXI, copy)
        module, times = copy / f"module_keras{keras}.py", os.path.join(folder, "times.json")
        text = module.read_text().replace("batch_size=200", f"batch_size={batch}")
        module.write_text(text + TIMED.format(times=times))
        words = [f"--root={folder}/out", f"--keras={keras}", f"--steps={steps}"]
        environ = {**os.environ, "PYTHONPATH": source, "TF_CPP_MIN_LOG_LEVEL": "3"}
        subprocess.run(
            [sys.executable, str(copy / "pipeline.py"), *words],
            check=True,
            capture_output=True,
            env=environ,
        )
        return Fit(*json.loads(Path(times).read_text()))


if __name__ == "__main__":
    main()
