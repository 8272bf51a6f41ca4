# SPDX-License-Identifier: Apache-2.0
"""Whether a rewritten model answers as the original does, and how large and how fast both are.

The difference of an output is the largest over all examples, as a part of the largest value that
the original gives: so the same tolerance fits probabilities and prices. For whole numbers, such as
classes, it is the part of the answers that differ.
"""

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stoker.errors import RewriteFailed
from stoker.models.inputs import Arrays

TOLERANCES: Mapping[str, float] = {
    # The same arithmetic in another order.
    "float32": 1e-4,
    # Eleven bits for a weight, and sums that start from them.
    "float16": 1e-2,
    # Eight bits for a weight, the scale taken per channel.
    "dynamic": 5e-2,
    # Eight bits for weights and for everything between them. Where a model is undecided, one step
    # of the scale can move an answer from one side to the other.
    "int8": 0.25,
}
"""How much a rewritten model may differ, by its precision."""

NUM_TIMED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The output in which two models differ most."""

    output: str
    value: float


def largest_difference(expected: Arrays, found: Arrays) -> Difference:
    """How far apart two answers are; RewriteFailed if they are not even of the same form."""
    differences = []
    for name, wanted in expected.items():
        if name not in found:
            raise RewriteFailed(f"It does not give the output {name!r}; it gives {sorted(found)}.")
        given = np.asarray(found[name])
        if given.shape != wanted.shape:
            raise RewriteFailed(
                f"Its output {name!r} has the shape {given.shape}, and should have the original's, "
                f"{wanted.shape}."
            )
        differences.append(Difference(output=name, value=_difference(wanted, given)))
    return max(differences, key=lambda one: one.value)


def _difference(wanted: Any, given: Any) -> float:
    if wanted.dtype.kind != "f":
        return float(np.mean(wanted != given)) if wanted.size else 0.0
    if not np.array_equal(np.isfinite(wanted), np.isfinite(given)):
        return float("inf")
    finite = np.isfinite(wanted)
    wanted, given = wanted[finite].astype(np.float64), given[finite].astype(np.float64)
    scale = float(np.abs(wanted).max(initial=0.0)) or 1.0
    return float(np.abs(wanted - given).max(initial=0.0)) / scale


def milliseconds(call: Callable[[], Any]) -> float:
    """How long a call takes, at the median."""
    call()
    times = []
    for _ in range(NUM_TIMED):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def size_of(path: str) -> int:
    """The bytes of a file, or of all files in a folder."""
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(path)
        for name in names
    )
