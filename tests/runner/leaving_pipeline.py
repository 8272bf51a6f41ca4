# SPDX-License-Identifier: Apache-2.0
"""A step that leaves a file for the next one, which no channel tells: TFX runs them in turn."""

import time
from pathlib import Path

from stoker.dsl import OutputDict, component


@component
def tune() -> OutputDict(rate=int):
    time.sleep(0.5)
    Path("best_rate.txt").write_text("3")
    return {"rate": 3}


@component
def train() -> OutputDict(rate=int):
    return {"rate": int(Path("best_rate.txt").read_text())}
