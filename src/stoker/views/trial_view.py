# SPDX-License-Identifier: Apache-2.0
"""The trials of a search as HTML: the best so far, and each trial as a line through its values."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stoker.any_python.layout import TUNER_RESULTS_FILE
from stoker.artifacts import Artifact
from stoker.views.data_tables import Detail
from stoker.views.line_charts import draw_lines
from stoker.views.markup import escape, table_view
from stoker.views.model_tables import trials_tables
from stoker.views.table import one_line, readable_number, shorten

_WIDTH, _HEIGHT, _SIDE, _TOP = 760, 250, 60, 34
_NOT_VALUES = ("trial_id", "score", "error")
_MOST_LINES = 300


def trials_view(artifact: Artifact) -> str:
    """Both charts, and all trials as a table."""
    trials = json.loads(Path(artifact.uri, TUNER_RESULTS_FILE).read_text(encoding="utf-8"))
    scored = [one for one in trials if isinstance(one.get("score"), int | float)]
    charts = ""
    if scored:
        charts = (
            '<h2>Best so far</h2><section class="card">'
            f"{_draw_best(scored)}</section>"
            '<h2>Parallel coordinates</h2><section class="card"><div class="scroll">'
            f"{_draw_coordinates(scored)}</div></section>"
        )
    return charts + "".join(map(table_view, trials_tables(artifact, Detail())))


def _draw_best(ranked: Sequence[Mapping[str, Any]]) -> str:
    """The score of each trial in the order in which they began, and the best of those before."""
    by_start = sorted(ranked, key=_order)
    is_max = ranked[0]["score"] >= ranked[-1]["score"]
    best: list[tuple[float, float]] = []
    for number, trial in enumerate(by_start):
        score = float(trial["score"])
        last = best[-1][1] if best else score
        best.append((number, max(last, score) if is_max else min(last, score)))
    scores = [(float(number), float(one["score"])) for number, one in enumerate(by_start)]
    lines = {"best so far": best, "score": scores}
    return draw_lines(lines, {"best so far": 1, "score": 0}, across="trial", label="Scores")


def _order(trial: Mapping[str, Any]) -> tuple[int, str]:
    name = str(trial.get("trial_id", ""))
    return (int(name), "") if name.isdecimal() else (1 << 60, name)


def _draw_coordinates(ranked: Sequence[Mapping[str, Any]]) -> str:
    """An axis for each hyperparameter and one for the score; the best trial is the strong line."""
    names = [*dict.fromkeys(k for one in ranked for k in one if k not in _NOT_VALUES), "score"]
    gap = (_WIDTH - 2 * _SIDE) / max(1, len(names) - 1)
    axes = {name: _Axis([one[name] for one in ranked if name in one]) for name in names}
    drawn = []
    for number, trial in reversed(list(enumerate(ranked[:_MOST_LINES]))):
        points = " ".join(
            f"{_SIDE + column * gap:.1f},{axes[name].place(trial[name]):.1f}"
            for column, name in enumerate(names)
            if name in trial
        )
        style = "series-1" if number == 0 else "series-0 faint"
        tip = ", ".join(f"{name} {one_line(trial[name])}" for name in names if name in trial)
        drawn.append(
            f'<polyline class="{style}" points="{points}"><title>{escape(tip)}</title></polyline>'
        )
    for column, name in enumerate(names):
        x = _SIDE + column * gap
        drawn.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - 20}"/>')
        drawn.append(
            f'<text class="title" x="{x:.1f}" y="12" text-anchor="middle">'
            f"{escape(shorten(name, 20))}</text>"
        )
        for y, text in ((_TOP - 6, axes[name].high), (_HEIGHT - 6, axes[name].low)):
            drawn.append(
                f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{escape(shorten(text, 14))}</text>'
            )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        f'aria-label="Trials as lines through their values">{"".join(drawn)}</svg>'
    )


class _Axis:
    """Where the values of one hyperparameter are: numbers by size, others side by side."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._numbers = [float(one) for one in values if _is_number(one)]
        self._is_numeric = bool(values) and len(self._numbers) == len(values)
        self._words = sorted({one_line(one) for one in values})
        if self._is_numeric:
            self.low, self.high = map(readable_number, (min(self._numbers), max(self._numbers)))
        else:
            self.low, self.high = (self._words[0], self._words[-1]) if self._words else ("", "")

    def place(self, value: Any) -> float:
        """How far down a value is."""
        if self._is_numeric:
            low, high = min(self._numbers), max(self._numbers)
            share = (float(value) - low) / (high - low) if high > low else 0.5
        else:
            rank = self._words.index(one_line(value))
            share = rank / (len(self._words) - 1) if len(self._words) > 1 else 0.5
        return _HEIGHT - 20 - share * (_HEIGHT - 20 - _TOP)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
