# SPDX-License-Identifier: Apache-2.0
"""What `stoker step` costs when the step itself has nothing to do: CPU seconds of the program.

Each of the penguin pipeline's steps, cached, in a run of its own; and over Python with the imports
that every pipeline file has.

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
IMPORTS = ["-c", "import tfx.v1, stoker.metadata.store"]
NUM_TIMES = 5


def main() -> None:
    with tempfile.TemporaryDirectory() as root:
        own = ["--", f"--root={root}"]
        stoker = [sys.executable, "-m", "stoker"]
        plan = subprocess.check_output([*stoker, "plan", PIPELINE, "--json", *own])
        steps = [step["id"] for step in json.loads(plan)["steps"]]
        for name in steps:
            run(["-m", "stoker", "step", PIPELINE, name, "--run-id", "first", *own])
        imports = min(run(IMPORTS) for _ in range(NUM_TIMES))
        print(f"{'cached step':20}{'CPU s':>8}{'over imports':>16}")
        best = dict.fromkeys(steps, float("inf"))
        for number in range(NUM_TIMES):
            for name in steps:
                words = ["step", PIPELINE, name, "--run-id", f"again{number}"]
                best[name] = min(best[name], run(["-m", "stoker", *words, *own]))
        for name in steps:
            print(f"{name:20}{best[name]:8.2f}{best[name] - imports:16.2f}")
        print(f"{'imports':20}{imports:8.2f}")


def run(words: Sequence[str]) -> float:
    """The CPU seconds of a program, and of all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
