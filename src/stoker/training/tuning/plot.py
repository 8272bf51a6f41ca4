# SPDX-License-Identifier: Apache-2.0
"""A search as one small HTML page: a dot per trial, the best score so far, and a table."""

import math
from collections.abc import Iterator, Sequence
from html import escape

from stoker.training.tuning.trials import Search, Trial, show_value

_WIDTH, _HEIGHT = 720, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 20, 50
_NUM_TICKS = 5

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 760px; margin: 2rem auto; padding: 0 1rem; }
svg { width: 100%; height: auto; font-size: 12px; fill: currentColor; }
.axis { stroke: currentColor; opacity: .25; }
.trial { fill: #3b7dd8; }
.best { fill: #e07a1f; }
.failed { stroke: #c43d3d; stroke-width: 2; }
.so-far { fill: none; stroke: #e07a1f; stroke-width: 1.5; opacity: .7; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8884; }
tr.best td { font-weight: 600; }
"""


def page(search: Search) -> str:
    """The page, complete in itself."""
    best = search.best
    result = f"The best {escape(search.objective)} is {show_value(best.score)}." if best else ""
    num_failed = len(search.failed)
    failed = f" {num_failed} failed." if num_failed else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>A search of {len(search.trials)} trials</title><style>{_STYLE}</style></head>"
        f"<body><h1>A search of {len(search.trials)} trials</h1><p>{result}{failed}</p>"
        f"{_svg(search)}{_table(search)}</body></html>\n"
    )


def _svg(search: Search) -> str:
    scale = _Scale(search.trials)
    marks = [*_draw_ticks(scale), *_draw_best_so_far(search, scale)]
    for index, trial in enumerate(search.trials):
        marks.append(_mark(trial, scale.x(index), scale, is_best=trial is search.best))
    middle, bottom = (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 10
    marks.append(f'<text x="{middle}" y="{bottom}" text-anchor="middle">trial</text>')
    label = f"{escape(search.objective)} of each trial, and the best so far"
    content = "".join(marks)
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">{content}</svg>'


class _Scale:
    """Where a trial and a score are in the picture."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        scores = [t.score for t in trials if t.score is not None and math.isfinite(t.score)]
        self.low, self.high = min(scores, default=0.0), max(scores, default=1.0)
        if self.low == self.high:
            self.low, self.high = self.low - 0.5, self.high + 0.5
        self._step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(trials))

    def x(self, index: int) -> float:
        """The middle of a trial's column."""
        return round(_LEFT + (index + 0.5) * self._step, 1)

    def y(self, score: float) -> float:
        """The height of a score; what is infinite is at the edge."""
        share = (min(max(score, self.low), self.high) - self.low) / (self.high - self.low)
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)


def _draw_ticks(scale: _Scale) -> Iterator[str]:
    for index in range(_NUM_TICKS):
        score = scale.low + (scale.high - scale.low) * index / (_NUM_TICKS - 1)
        y = scale.y(score)
        yield f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{show_value(score)}</text>'


def _draw_best_so_far(search: Search, scale: _Scale) -> Iterator[str]:
    """The best score so far, as steps."""
    better = max if search.direction == "max" else min
    best: float | None = None
    path = ""
    for index, trial in enumerate(search.trials):
        if trial.score is None:
            continue
        x = scale.x(index)
        start = f"M{x},{scale.y(trial.score)}" if best is None else f"H{x}"
        best = trial.score if best is None else better(best, trial.score)
        path += f"{start}V{scale.y(best)}"
    if path:
        yield f'<path class="so-far" d="{path}H{_WIDTH - _RIGHT}"/>'


def _mark(trial: Trial, x: float, scale: _Scale, *, is_best: bool) -> str:
    values = ", ".join(f"{name}={show_value(value)}" for name, value in trial.values.items())
    if trial.score is None:
        y = _HEIGHT - _BOTTOM + 12
        title = escape(f"trial {trial.id} failed: {trial.last_words}; {values}")
        cross = f"M{x - 4},{y - 4}l8,8m0,-8l-8,8"
        return f'<path class="failed" d="{cross}"><title>{title}</title></path>'
    title = escape(f"trial {trial.id}: {show_value(trial.score)}; {values}")
    kind, radius = ("best", 6) if is_best else ("trial", 4)
    place = f'cx="{x}" cy="{scale.y(trial.score)}" r="{radius}"'
    return f'<circle class="{kind}" {place}><title>{title}</title></circle>'


def _table(search: Search) -> str:
    names = list(dict.fromkeys(name for trial in search.trials for name in trial.values))
    head = "".join(f"<th>{escape(name)}</th>" for name in ("trial", search.objective, *names))
    lines = []
    for trial in search.ranked:
        score = trial.last_words if trial.score is None else show_value(trial.score)
        values = [show_value(trial.values[name]) if name in trial.values else "" for name in names]
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in (trial.id, score, *values))
        lines.append(f'<tr class="{"best" if trial is search.best else ""}">{cells}</tr>')
    return f'<div class="table"><table><tr>{head}</tr>{"".join(lines)}</table></div>'
