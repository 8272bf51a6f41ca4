# SPDX-License-Identifier: Apache-2.0
"""What `stoker step` costs when the step itself has nothing to do: CPU seconds of the program.

Each of the penguin pipeline's steps, cached, in a run of its own: all that the process takes, which
should be at most 0.4; and what the import in the pipeline's own file takes of it.

python benchmarks/step.py
"""

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PIPELINE = str(REPOSITORY / "examples" / "penguin" / "pipeline.py")
IMPORT = "from tfx import v1"
NUM_TIMES = 5


def main() -> None:
    with tempfile.TemporaryDirectory() as root:
        own = ["--", f"--root={root}"]
        stoker = [sys.executable, "-m", "stoker"]
        plan = subprocess.check_output([*stoker, "plan", PIPELINE, "--json", *own])
        steps = [step["id"] for step in json.loads(plan)["steps"]]
        for name in steps:
            run(["-m", "stoker", "step", PIPELINE, name, "--run-id", "first", *own])
        imports = min(run(["-c", IMPORT]) for _ in range(NUM_TIMES))
        print(f"{'cached step':20}{'CPU s':>8}")
        best = dict.fromkeys(steps, float("inf"))
        for number in range(NUM_TIMES):
            for name in steps:
                words = ["step", PIPELINE, name, "--run-id", f"again{number}"]
                best[name] = min(best[name], run(["-m", "stoker", *words, *own]))
        for name, seconds in (*best.items(), (IMPORT, imports)):
            print(f"{name:20}{seconds:8.2f}")


def run(words: Sequence[str]) -> float:
    """The CPU seconds of a program, and of all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
