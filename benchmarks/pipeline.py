# SPDX-License-Identifier: Apache-2.0
"""Whole pipelines, from the start of the program to its end: wall, and CPU of all processes.

python benchmarks/pipeline.py                      # branches, penguin, taxi, each cached as well
python benchmarks/pipeline.py --only penguin       # one of them
python benchmarks/pipeline.py --beside OTHER/src   # in turns with another checkout of Stoker

TFX's walls are those of TFX 1.16 on two quiet cores. A busy machine is allowed for: a loop is timed
beside, and TFX's walls are multiplied by its wall over its CPU seconds.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
OURS = str(REPOSITORY / "src")
PENGUIN = str(REPOSITORY / "benchmarks" / "penguin_transform" / "pipeline.py")
TAXI = str(REPOSITORY / "examples" / "taxi" / "pipeline.py")
BRANCHES = """
import sys, time
from tfx import v1 as tfx

@tfx.dsl.components.component
def wait(name: tfx.dsl.components.Parameter[str]):
    time.sleep(5)

root = sys.argv[1].removeprefix("--root=")
steps = [wait(name=name).with_id(name) for name in ("one", "other")]
if __name__ == "__main__":
    tfx.orchestration.LocalDagRunner().run(tfx.dsl.Pipeline("branches", root, components=steps))
"""
LOOP = "print(sum(number * number for number in range(12_000_000)))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program that is measured, and what TFX takes for the same."""

    name: str
    words: Sequence[str]
    tfx_wall: float | None = None
    tfx_cached_wall: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one program has taken."""

    wall: float
    cpu: float


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="the cases whose names begin so")
    parser.add_argument("--beside", default="", help="the src folder of another checkout")
    parser.add_argument("--times", type=int, default=1)
    given = parser.parse_args()
    sources = {"": OURS, **({"  the other checkout": given.beside} if given.beside else {})}
    print(f"{'':38}{'wall s':>8}{'CPU s':>8}{'TFX, as busy':>14}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for case in list_cases(Path(folder)):
            if case.name.startswith(given.only):
                for _ in range(given.times):
                    for label, source in sources.items():
                        measure_case(case, label, source)


def list_cases(folder: Path) -> Iterator[Case]:
    branches = folder / "branches.py"
    branches.write_text(BRANCHES)
    yield Case(name="branches of 5 s", words=[str(branches)])
    cached = 13.5
    for keras, wall in (("2", 46.8), ("3", 35.7)):
        words = [PENGUIN, f"--keras={keras}"]
        yield Case(
            name=f"penguin, Keras {keras}", words=words, tfx_wall=wall, tfx_cached_wall=cached
        )
    yield Case(name="taxi, Keras 2", words=[TAXI, "--keras=2", "--steps=1000"], tfx_wall=69.1)


def measure_case(case: Case, label: str, source: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        # What makes up the taxi's data is no part of the pipeline.
        if case.words[0] == TAXI:
            data = os.path.join(root, "data", "trips.csv")
            make = [sys.executable, str(Path(TAXI).with_name("make_data.py")), data, "--rows=15000"]
            os.makedirs(os.path.dirname(data))
            subprocess.run(make, check=True, capture_output=True)
        words = [*case.words[:1], f"--root={root}", *case.words[1:]]
        for what, tfx_wall in (("", case.tfx_wall), (", cached", case.tfx_cached_wall)):
            if what and not tfx_wall:
                continue
            busy = measure(["-c", LOOP], source)
            found = measure(words, source)
            again = measure(["-c", LOOP], source)
            factor = (busy.wall + again.wall) / (busy.cpu + again.cpu)
            show(f"{case.name}{what}{label}", found, tfx_wall and tfx_wall * factor)


def measure(words: Sequence[str], source: str) -> Measured:
    """Run a program; its CPU seconds are those of all processes that it has waited for."""
    environ = {**os.environ, "PYTHONPATH": source, "TF_CPP_MIN_LOG_LEVEL": "3"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, *words], check=True, capture_output=True, env=environ)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(wall=wall, cpu=cpu)


def show(name: str, found: Measured, tfx_wall: float | None) -> None:
    line = f"{name:38}{found.wall:8.1f}{found.cpu:8.1f}"
    if tfx_wall:
        line += f"{tfx_wall:14.1f}{f'1/{tfx_wall / found.wall:.1f}':>8}"
    print(line, flush=True)


if __name__ == "__main__":
    main()
