# SPDX-License-Identifier: Apache-2.0
"""Two branches that do nothing until both are under way; for tests that stop or kill their runner.

python branching_pipeline.py ROOT SECONDS
"""

import os
import sys
import time
from pathlib import Path

from tfx.v1.dsl import Pipeline
from tfx.v1.dsl.components import OutputDict, Parameter, component
from tfx.v1.orchestration import LocalDagRunner


@component
def meet(me: Parameter[str], other: Parameter[str], folder: Parameter[str]) -> OutputDict(pid=int):
    """Wait until the other step runs, too, and then a while."""
    Path(folder, me).write_text(str(os.getpid()))
    until = time.monotonic() + 30
    while not Path(folder, other).exists():
        assert time.monotonic() < until, f"{other} does not run beside {me}"
        time.sleep(0.01)
    time.sleep(float(Path(folder, "seconds").read_text()))
    print(f"{me} has met {other}")
    return {"pid": os.getpid()}


@component
def end(one: int, two: int) -> OutputDict(number=int):
    """Know that both have run, in processes of their own."""
    return {"number": len({one, two})}


def declare(folder):
    names = (("a", "b"), ("b", "a"))
    one, two = (meet(me=me, other=other, folder=folder).with_id(me) for me, other in names)
    both = end(one=one.outputs["pid"], two=two.outputs["pid"])
    root = os.path.join(folder, "root")
    return Pipeline("branches", root, components=[one, two, both], enable_cache=True)


if __name__ == "__main__":
    Path(sys.argv[1], "seconds").write_text(sys.argv[2])
    LocalDagRunner(parallel=2).run(declare(sys.argv[1]))
