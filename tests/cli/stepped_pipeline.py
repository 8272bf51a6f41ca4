# SPDX-License-Identifier: Apache-2.0
"""A pipeline of light steps, for `stoker step`: python stepped_pipeline.py [SECONDS [LIMIT]].

Each step leaves a mark in `marks` when it runs. `slow` takes SECONDS, or if these are below 0,
until there is a file `go` beside it; with a file `fail`, it raises then. `big` is run only if the
number is over LIMIT.
"""

import os
import sys
import time
from pathlib import Path

from tfx import v1 as tfx

from stoker import LocalDagRunner
from stoker.dsl import Cond, OutputDict, Parameter, component
from stoker.launchers.in_process import InProcess

HERE = Path(__file__).parent
MARKS = HERE / "marks"


def mark(name):
    with MARKS.open("a") as file:
        file.write(f"{name}\n")


@component
def number(value: Parameter[int]) -> OutputDict(out=int):
    mark("number")
    return {"out": value}


@component
def slow(value: int, seconds: Parameter[float]) -> OutputDict(out=int):
    mark("slow")
    while seconds < 0 and not (HERE / "go").exists():
        time.sleep(0.01)
    time.sleep(max(0, seconds))
    if (HERE / "fail").exists():
        raise OSError("the disk is full")
    return {"out": value + 1}


@component
def big(value: int) -> OutputDict(out=int):
    mark("big")
    return {"out": value}


@component
def after_big(value: int) -> OutputDict(out=int):
    mark("after_big")
    return {"out": value}


def main(seconds="0", limit="0"):
    value = tfx.dsl.experimental.RuntimeParameter(name="value", ptype=int, default=1)
    numbers = number(value=value)
    slowly = slow(value=numbers.outputs["out"], seconds=float(seconds))
    with Cond(slowly.outputs["out"].future()[0].value > int(limit)):
        conditional = big(value=slowly.outputs["out"])
    last = after_big(value=conditional.outputs["out"])
    pipeline = tfx.dsl.Pipeline(
        pipeline_name="stepped",
        pipeline_root="root",
        components=[last, conditional, slowly, numbers],
        enable_cache=True,
    )
    launcher = InProcess() if os.environ.get("STOKER_TEST_IN_PROCESS") else None
    run = LocalDagRunner(launcher).run(pipeline)
    print("the whole run had", len(run.outputs), "steps")


if __name__ == "__main__":
    main(*sys.argv[1:])
