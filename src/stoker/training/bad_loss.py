# SPDX-License-Identifier: Apache-2.0
"""The first loss of a training that is NaN or infinite: which step's, and where its batch lies."""

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLoss:
    """A loss that is not finite, after a step that is the first of which that is so."""

    name: str
    value: float
    step: int
    num_steps: int = 1
    """How many steps up to this one were done at once: any of them may be the first."""
    place: str = ""
    """Where the batch of that step lies."""

    def __str__(self) -> str:
        what = "NaN" if math.isnan(self.value) else "infinite"
        first = self.step - self.num_steps + 1
        step = f"step {self.step:,}"
        if self.num_steps > 1:
            step = f"one of the steps {first:,} to {self.step:,}, which are done at once"
        where = f" ({self.place})" if self.place else ""
        return f"{self.name} is {what} for the first time at {step}{where}"


def find_bad_loss(metrics: Mapping[str, float]) -> tuple[str, float] | None:
    """The name and the value of a loss that is not finite."""
    found = (item for item in metrics.items() if "loss" in item[0] and not math.isfinite(item[1]))
    return next(found, None)
