# SPDX-License-Identifier: Apache-2.0
"""The lines of metrics.jsonl: written while a model trains, read by views and by who resumes."""

import contextlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

_RESUMED = "resumed_after_step"
_TRAINING = ("train", "train_epochs")
_SERIES = re.compile(rb'"series": "([^"]*)"')
_TAIL_BYTES = 4_000_000
_TAIL_LINES = 1_000
"""So many lines at the end of a file are looked at for metrics that are written one by one."""


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
                "metrics": {name: spell_number(value) for name, value in self.metrics.items()},
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


def read_last_metrics(path: str | Path) -> dict[str, float]:
    """The last value of each metric, by Keras's names: `loss`, `val_loss`; empty without a file.

    Only the end of a long file is read. Of an epoch's mean and a single batch, the mean is meant.
    """
    found: dict[tuple[str, str], float] = {}
    seen: set[bytes] = set()
    for number, line in enumerate(reversed(_read_tail(path))):
        series = _SERIES.search(line)
        if number > _TAIL_LINES and (series is None or series[1] in seen):
            continue
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            record = MetricsRecord.from_dict(json.loads(line))
            seen.add(record.series.encode())
            for name, value in record.metrics.items():
                found.setdefault((record.series, name), value)
    ordered = sorted(found, key=lambda key: key[0] not in _TRAINING)
    epochs = {name for series, name in found if series == "train_epochs"}
    return {
        _name_as_keras(series, name): found[series, name]
        for series, name in ordered
        if series != "train" or name not in epochs
    }


def _name_as_keras(series: str, name: str) -> str:
    if series in _TRAINING:
        return name
    return f"val_{name}" if series == "validation" else f"{series}/{name}"


def _read_tail(path: str | Path) -> list[bytes]:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        # The last line may be half there: it is being written, or its process was killed.
        with contextlib.suppress(json.JSONDecodeError):
            found = json.loads(line)
            if isinstance(found, dict):
                yield found


def spell_number(value: float) -> float | str:
    """Numbers that JSON cannot say, as the words that protobuf's JSON uses for them."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
