# SPDX-License-Identifier: Apache-2.0
"""What a report of progress says, in the words of a line: for logs, and for the live line."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Record = Mapping[str, Any]

SILENT_SECONDS = 60.0
"""Of a step that reports nothing for so long, that is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStep:
    """What a live line says of the step that it is about."""

    name: str
    facts: Sequence[str]
    times: Sequence[str]
    share: float | None
    """How much of its work is done, if that is known."""


def describe(
    name: str, record: Record, *, elapsed: float, silent: float = 0.0, width: int | None = None
) -> str:
    """A report as one plain line, of a step that has run and been silent for so many seconds.

    What is beyond a `width` is left out, unless it is about what came of the work.
    """
    line = f"{name}: {', '.join(list_facts(record, silent=silent))}"
    time = f"{clock(int(elapsed))} elapsed"
    for part in (time, *list_time_left(record), *list_rates(record)):
        longer = f"{line}{'' if line.endswith(': ') else ', '}{part}"
        if width and len(longer) > width:
            break
        line = longer
    return line


def list_facts(record: Record, *, silent: float = 0.0) -> list[str]:
    """What is done and what came of it, the most wanted first."""
    parts = [str(record["doing"])] if record.get("doing") else []
    if silent >= SILENT_SECONDS:
        parts.append(f"nothing reported for {clock(silent)}")
    if "count" in record:
        parts.append(_count(record))
    if "step" in record:
        step, steps = record["step"], record.get("steps")
        parts.append(f"step {step:,}/{steps:,}" if steps else f"step {step:,}")
    if "epoch" in record:
        parts.append(f"epoch {record['epoch']}/{record['epochs']}")
    if record.get("phase"):
        parts.append(str(record["phase"]))
    return parts + [f"{name} {_short(value)}" for name, value in record.get("metrics", {}).items()]


def list_time_left(record: Record) -> list[str]:
    """How long it will go on, if that is known."""
    left = None if record.get("done") else record.get("seconds_left")
    return [f"{clock(left)} left"] if left is not None else []


def list_rates(record: Record, *, brief: bool = False) -> list[str]:
    """How fast it goes, and what holds it up; briefly where there is little room."""
    parts = []
    if (rate := record.get("per_second")) is not None:
        parts.append(f"{_abbreviate(rate)}/s" if brief else f"{rate:,.0f} {record['unit']}/s")
    elif (rate := record.get("examples_per_second")) is not None:
        parts.append(f"{_abbreviate(rate) if brief else f'{rate:,.0f}'} examples/s")
    elif (rate := record.get("steps_per_second")) is not None:
        parts.append(f"{rate:,.4g} steps/s")
    if (waiting := record.get("waiting")) is not None:
        parts.append(f"{waiting:.0%} waiting for input")
    if (num_steps := record.get("steps_per_call")) is not None and not brief:
        why = f" ({record['why_single']})" if record.get("why_single") else ""
        parts.append(f"{num_steps} step{'s' if num_steps > 1 else ''} per call{why}")
    return parts


def find_share(record: Record) -> float | None:
    """How much of the work is done, from 0 to 1, where that is known."""
    done, total = record.get("count", record.get("step")), record.get("total", record.get("steps"))
    return min(1.0, done / total) if total and done is not None else None


def _count(record: Record) -> str:
    count, total = record["count"], record.get("total")
    if not total:
        return f"{count:,} {record['unit']}"
    if record.get("is_about"):
        return f"{count:,}/~{_abbreviate(max(count, total))} {record['unit']}"
    return f"{count:,}/{total:,} {record['unit']}"


def _abbreviate(number: float) -> str:
    """About the number, in few letters."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            digits = 1 if number < 10 * size else 0
            return f"{number / size:.{digits}f}{letter}"
    return f"{number:.0f}"


def _short(value: float) -> str:
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4f}"
    return f"{value:.3g}"


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds, and hours if there are any."""
    minutes, seconds = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
