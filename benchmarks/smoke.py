# SPDX-License-Identifier: Apache-2.0
"""Whether anything has become slower: a few ratios in a few minutes, beside a recorded table.

    python benchmarks/smoke.py [--record]

Each is the CPU time of something that does not change (tfxio, tfx-bsl, Arrow, an import, a fit of
one step per call) by that of ours, measured in turns, the best of each. One that has lost more than
a quarter is measured again, twice at most, so that the load of the machine fails nobody; if that
does not help, the program ends with 1. `--record` writes the table, smoke.json, anew.

To add a ratio: a function that returns it, and a line in RATIOS.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1"}

import cached_run
import data_accessor
import data_rows
import decode
import fit
import measuring
import pyarrow.csv
from tfx_bsl.public.tfxio import TensorFlowDatasetOptions

from stoker.artifacts import Examples
from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.example_gen.executor import CsvExecutor
from stoker.data.accessor import tf_dataset_factory

TABLE = Path(__file__).with_name("smoke.json")
MOST_LOST = 0.25
ATTEMPTS, TURNS = 3, 3
NUM_ROWS, NUM_VALUES, NUM_STEPS = 60_000, 200_000, 400


def read_examples(folder: str, *, batch_size: int) -> float:
    """Raw examples by the accessor, against tfxio."""
    files, schema = data_accessor.write_raw(os.path.join(folder, "raw"), NUM_ROWS)
    options = TensorFlowDatasetOptions(batch_size=batch_size)
    readers = (data_accessor.read_with_tfxio, tf_dataset_factory)
    loop = data_accessor.read_in_graph
    iterators = [iter(read(files, options, schema)) for read in readers]
    for iterator in iterators:
        data_accessor.rates(iterator, batch_size, loop)
    best = [0.0, 0.0]
    for _ in range(TURNS):
        for which, iterator in enumerate(iterators):
            _, per_cpu_second = data_accessor.rates(iterator, batch_size, loop)
            best[which] = max(best[which], per_cpu_second)
    theirs, ours = best
    return ours / theirs


def decode_examples(_folder: str) -> float:
    """Serialized examples to columns, against tfx-bsl."""
    make = decode.SHAPES["a table of 18 columns"]
    records, schema, _ = decode.make_records(make, NUM_VALUES)
    _, theirs, ours = decode.measure(records, schema, TURNS)
    return theirs / ours


def write_examples(folder: str) -> float:
    """CSV to examples, against Arrow, which only reads the file."""
    path = data_rows.csv_file(folder)
    if not os.path.exists(path):
        data_rows.write_csv(folder, NUM_ROWS)
    best = [float("inf")] * 2
    for turn in range(TURNS):
        clock = measuring.Clock()
        pyarrow.csv.read_csv(path)
        best[0] = min(best[0], clock.since()[1])
        examples = Examples()
        examples.uri = os.path.join(folder, f"examples-{turn}-{random.random()}")
        step = CsvExampleGen(os.path.dirname(path))
        clock = measuring.Clock()
        CsvExecutor().Do({}, {"examples": [examples]}, step.spec.values({}))
        best[1] = min(best[1], clock.since()[1])
    return best[0] / best[1]


def train(_folder: str) -> float:
    """Several steps per call into TensorFlow, against one, at batches of 40."""
    data = fit.make_batches(40, wide=False)
    model = fit.make_model("two")
    best: dict[int | None, float] = {1: float("inf"), None: float("inf")}
    for _ in range(TURNS):
        for per_call in best:
            _, cpu, _ = fit.time_fit(model, data, NUM_STEPS, per_call=per_call, callbacks=[])
            best[per_call] = min(best[per_call], cpu)
    return best[1] / best[None]


def run_from_cache(folder: str) -> float:
    """A run of the penguin pipeline that finds everything cached, against its imports alone."""
    pipeline = [str(cached_run.PIPELINE), f"--root={folder}/penguin"]
    if not os.path.exists(f"{folder}/penguin"):
        cached_run.run(pipeline)
    programs = (["-c", cached_run.IMPORTS], pipeline)
    imports, ours = (min(cached_run.run(words)[1] for _ in range(TURNS)) for words in programs)
    return imports / ours


RATIOS: dict[str, Callable[[str], float]] = {
    "raw examples, batch 64": lambda folder: read_examples(folder, batch_size=64),
    "raw examples, batch 1024": lambda folder: read_examples(folder, batch_size=1024),
    "decode": decode_examples,
    "CSV to examples": write_examples,
    "fit, batch 40": train,
    "cached run": run_from_cache,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    is_recording = parser.parse_args().record
    recorded = {} if is_recording else json.loads(TABLE.read_text())
    found, slow = {}, []
    for name, measure in RATIOS.items():
        limit = recorded.get(name, 0.0) * (1 - MOST_LOST)
        found[name] = find_ratio(measure, limit, attempts=1 if is_recording else ATTEMPTS)
        was = f"{recorded[name]:7.3f} recorded" if name in recorded else "not recorded"
        print(f"{name:26} {found[name]:7.3f}   {was}", flush=True)
        if found[name] < limit:
            slow.append(name)
    if is_recording:
        TABLE.write_text(json.dumps(found, indent=2) + "\n")
    if slow:
        sys.exit(f"Slower by more than {MOST_LOST:.0%} than recorded: {', '.join(slow)}")


def find_ratio(measure: Callable[[str], float], limit: float, *, attempts: int) -> float:
    """The best of some attempts; the first that reaches the limit is the last."""
    best = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(attempts):
            best = max(best, measure(folder))
            if best >= limit:
                break
    return best


if __name__ == "__main__":
    main()
