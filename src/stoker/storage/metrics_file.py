# SPDX-License-Identifier: Apache-2.0
"""The lines of metrics.jsonl: written while a model trains, read by views and by who resumes."""

import contextlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

_RESUMED = "resumed_after_step"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsRecord:
    """The metrics of one step.

    `series` is whose curve this is a point of: several series of a split, such as its batches and
    its epochs, are never mixed. Files of earlier versions have none, and one curve per split.
    """

    step: int
    split: str
    series: str
    metrics: Mapping[str, float]
    epoch: int | None = None
    time: float = 0.0

    def to_json(self) -> str:
        """This record as one line."""
        return json.dumps(
            {
                "time": round(self.time, 3),
                "step": self.step,
                "epoch": self.epoch,
                "split": self.split,
                "series": self.series,
                "metrics": {name: _spell(value) for name, value in self.metrics.items()},
            }
        )

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """The record of a line, which an earlier version may have written."""
        return cls(
            step=found["step"],
            split=found["split"],
            series=found.get("series", found["split"]),
            metrics={name: float(value) for name, value in found["metrics"].items()},
            epoch=found.get("epoch"),
            time=found.get("time", 0.0),
        )


def mark_resumed(step: int) -> str:
    """A line between two attempts to train: the second went on after this step of the first."""
    return json.dumps({_RESUMED: step})


def read_metrics_file(path: str | Path) -> list[MetricsRecord]:
    """The records of a file, without what a later attempt did again; none if there is no file."""
    records: list[MetricsRecord] = []
    for found in _read_lines(Path(path)):
        if _RESUMED in found:
            records = [record for record in records if record.step <= found[_RESUMED]]
        else:
            records.append(MetricsRecord.from_dict(found))
    return records


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        # The last line may be half there: it is being written, or its process was killed.
        with contextlib.suppress(json.JSONDecodeError):
            found = json.loads(line)
            if isinstance(found, dict):
                yield found


def _spell(value: float) -> Any:
    """Numbers that JSON cannot say, as the words that protobuf's JSON uses for them."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
