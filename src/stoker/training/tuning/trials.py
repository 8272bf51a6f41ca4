# SPDX-License-Identifier: Apache-2.0
"""What a search has found: its trials, ranked, as a file, as lines, and as a table."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

_OF_GRAPH = re.compile(r"\s*(\[\[.*)?$")
"""A line with a node of TensorFlow's graph, which stands after what is wrong, or an empty one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One trial that has ended."""

    id: str
    values: Mapping[str, Any]
    score: float | None = None
    """None if the trial failed."""
    error: str = ""
    """The traceback of a trial that failed."""

    @property
    def last_words(self) -> str:
        """The last line of the traceback that is not about TensorFlow's graph."""
        told = [line for line in self.error.splitlines() if not _OF_GRAPH.match(line)]
        return told[-1].strip() if told else "it gave no score"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The trials of a search in the order in which they started, and what they were judged by."""

    objective: str
    direction: Literal["min", "max"]
    trials: Sequence[Trial] = field(default_factory=tuple)

    @property
    def ranked(self) -> list[Trial]:
        """The best first, those that failed last; of equals, the first."""
        sign = -1 if self.direction == "max" else 1
        return sorted(self.trials, key=lambda one: (one.score is None, sign * (one.score or 0.0)))

    @property
    def best(self) -> Trial | None:
        """The best trial; None if none has ended well."""
        return next((trial for trial in self.ranked if trial.score is not None), None)

    @property
    def failed(self) -> list[Trial]:
        """The trials that failed, in order."""
        return [trial for trial in self.trials if trial.score is None]


def failures_in_a_row(ended_well: Sequence[bool]) -> int:
    """How many of the trials that ended last have failed, one after the other."""
    count = 0
    for well in reversed(ended_well):
        if well:
            break
        count += 1
    return count


def rows(search: Search) -> list[dict[str, Any]]:
    """The trials as `tuner_results.json` holds them, best first."""
    return [
        {
            "trial_id": trial.id,
            "score": _finite(trial.score),
            **trial.values,
            **({"error": trial.last_words} if trial.score is None else {}),
        }
        for trial in search.ranked
    ]


def describe(search: Search, trial: Trial) -> str:
    """One line about a trial that has just ended."""
    if trial.score is None:
        result = f"trial {trial.id} failed: {trial.last_words.rstrip('.')}"
    else:
        result = f"trial {trial.id}: {search.objective} {show_value(trial.score)}"
    best = search.best
    if best is trial:
        result += ", the best so far"
    elif best:
        result += f", best {show_value(best.score)} (trial {best.id})"
    values = " ".join(f"{name}={show_value(value)}" for name, value in trial.values.items())
    return f"{result}, {values}" if values else result


def table(search: Search) -> str:
    """All trials as plain text, in the order in which they started, the best one marked."""
    names = list(dict.fromkeys(name for trial in search.trials for name in trial.values))
    cells = [["", "trial", search.objective, *names]]
    for trial in search.trials:
        score = "failed" if trial.score is None else show_value(trial.score)
        values = [show_value(trial.values[name]) if name in trial.values else "" for name in names]
        cells.append(["*" if trial is search.best else "", trial.id, score, *values])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return "\n".join(lines)


def show_value(value: Any) -> str:
    """A hyperparameter or a score as text that is short enough for a table."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def _finite(score: float | None) -> float | None:
    """JSON has no infinity."""
    return score if score is not None and math.isfinite(score) else None
