# SPDX-License-Identifier: Apache-2.0
"""Pictures of what follows what, as SVG: steps with their channels, a timeline, a lineage."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stoker.views.markup import escape

_BOX_WIDTH, _BOX_HEIGHT = 164, 46
_GAP_X, _GAP_Y = 44, 18
_LARGE, _HUGE = 1100, 1900
_PAD = 8
_NUM_SWEEPS = 4
_LETTERS = 22
_BAR_HEIGHT, _ROW = 12, 26
_TIME_LABEL, _TIME_WIDTH = 200, 760


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One thing in a picture."""

    id: str
    title: str
    text: str = ""
    kind: str = ""
    """Its style class, such as the state of a step."""
    link: str = ""
    tip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """What leads from one thing to another, and by which name."""

    source: str
    target: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A stretch of time."""

    title: str
    text: str
    kind: str
    start_ms: int
    end_ms: int
    link: str = ""


def draw_graph(boxes: Sequence[Box], arrows: Sequence[Arrow], label: str) -> str:
    """Boxes in columns from left to right, each behind all that leads to it."""
    known = {box.id: box for box in boxes}
    pairs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for arrow in arrows:
        if arrow.source in known and arrow.target in known and arrow.source != arrow.target:
            pairs[arrow.source, arrow.target].append(arrow.text)
    columns = _arrange(list(known), list(pairs))
    if not columns:
        return ""
    tallest = max(map(len, columns))
    width = len(columns) * (_BOX_WIDTH + _GAP_X) - _GAP_X + 2 * _PAD
    height = tallest * (_BOX_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _PAD
    places = {
        name: (
            _PAD + x * (_BOX_WIDTH + _GAP_X),
            _PAD + (y + (tallest - len(column)) / 2) * (_BOX_HEIGHT + _GAP_Y),
        )
        for x, column in enumerate(columns)
        for y, name in enumerate(column)
    }
    drawn = [_draw_arrow(places[a], places[b], texts) for (a, b), texts in pairs.items()]
    drawn += [_draw_box(known[name], *place) for name, place in places.items()]
    return (
        f'<svg class="graph{_name_size(width)}" viewBox="0 0 {width} {height:.0f}" '
        f'width="{width}" height="{height:.0f}" role="group" aria-label="{escape(label)}">'
        f"{''.join(drawn)}</svg>"
    )


def _name_size(width: float) -> str:
    """What the style has to know of a picture's size, so that its text stays readable."""
    return " huge" if width > _HUGE else " large" if width > _LARGE else ""


def _arrange(names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The columns: a thing stands behind the last of what leads to it, near to where that is."""
    before: dict[str, list[str]] = defaultdict(list)
    after: dict[str, list[str]] = defaultdict(list)
    for source, target in pairs:
        before[target].append(source)
        after[source].append(target)
    rank: dict[str, int] = {}

    def find_rank(name: str, on_the_way: frozenset[str]) -> int:
        if name not in rank:
            sources = [one for one in before[name] if one not in on_the_way]
            way = on_the_way | {name}
            rank[name] = max((find_rank(one, way) + 1 for one in sources), default=0)
        return rank[name]

    for name in names:
        find_rank(name, frozenset())
    columns: list[list[str]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for name in names:
        columns[rank[name]].append(name)
    for sweep in range(_NUM_SWEEPS):
        forward = sweep % 2 == 0
        for column in columns if forward else reversed(columns):
            heights = {one: index for row in columns for index, one in enumerate(row)}
            near = before if forward else after
            column.sort(key=lambda one: _mean([heights[b] for b in near[one]], heights[one]))
    return columns


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _draw_arrow(start: tuple[float, float], end: tuple[float, float], texts: Iterable[str]) -> str:
    x1, y1 = start[0] + _BOX_WIDTH, start[1] + _BOX_HEIGHT / 2
    x2, y2 = end[0], end[1] + _BOX_HEIGHT / 2
    bend = max(24.0, (x2 - x1) / 2)
    tip = escape(", ".join(dict.fromkeys(filter(None, texts))))
    return (
        f'<path class="arrow" d="M{x1:.0f} {y1:.0f} C{x1 + bend:.0f} {y1:.0f} '
        f'{x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"><title>{tip}</title></path>'
        f'<circle class="head" cx="{x2:.0f}" cy="{y2:.0f}" r="3"/>'
    )


def _draw_box(box: Box, x: float, y: float) -> str:
    title, text = _shorten(box.title), _shorten(box.text, _LETTERS + 6)
    tip = "\n".join(filter(None, (box.title, box.text, box.tip)))
    inner = (
        f'<rect class="box {escape(box.kind)}" x="{x:.0f}" y="{y:.1f}" width="{_BOX_WIDTH}" '
        f'height="{_BOX_HEIGHT}" rx="7"/>'
        f'<rect class="edge {escape(box.kind)}" x="{x:.0f}" y="{y + 7:.1f}" width="4" '
        f'height="{_BOX_HEIGHT - 14}"/>'
        f'<text class="title" x="{x + 14:.0f}" y="{y + 19:.1f}">{escape(title)}</text>'
        f'<text x="{x + 14:.0f}" y="{y + 36:.1f}">{escape(text)}</text>'
        f"<title>{escape(tip)}</title>"
    )
    return f'<a href="{escape(box.link)}">{inner}</a>' if box.link else f"<g>{inner}</g>"


def _shorten(text: str, letters: int = _LETTERS) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"


def draw_timeline(bars: Sequence[Bar], marks: Mapping[float, str]) -> str:
    """A row for each bar over one axis of time; `marks` are places from 0 to 1, with a text."""
    if not bars:
        return ""
    first, last = min(bar.start_ms for bar in bars), max(bar.end_ms for bar in bars)
    span = max(1, last - first)
    room = _TIME_WIDTH - _TIME_LABEL - 70
    height = len(bars) * _ROW + 24
    drawn = []
    for share, text in marks.items():
        x = _TIME_LABEL + share * room
        drawn.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - 20}"/>')
        drawn.append(
            f'<text x="{x:.1f}" y="{height - 5}" text-anchor="middle">{escape(text)}</text>'
        )
    for row, bar in enumerate(bars):
        x = _TIME_LABEL + (bar.start_ms - first) / span * room
        width = max(3.0, (bar.end_ms - bar.start_ms) / span * room)
        y = row * _ROW + 6
        name = (
            f'<text class="title" x="{_TIME_LABEL - 10}" y="{y + 10}" text-anchor="end">'
            f"{escape(_shorten(bar.title, 26))}</text>"
        )
        drawn.append(f'<a href="{escape(bar.link)}">{name}</a>' if bar.link else name)
        drawn.append(
            f'<rect class="span {escape(bar.kind)}" x="{x:.1f}" y="{y}" width="{width:.1f}" '
            f'height="{_BAR_HEIGHT}" rx="3"><title>{escape(bar.title)}: {escape(bar.text)}'
            "</title></rect>"
            f'<text x="{x + width + 6:.1f}" y="{y + 10}">{escape(bar.text)}</text>'
        )
    return (
        f'<svg class="timeline" viewBox="0 0 {_TIME_WIDTH} {height}" width="{_TIME_WIDTH}" '
        f'height="{height}" role="group" aria-label="When each step ran">{"".join(drawn)}</svg>'
    )


def make_time_marks(span_ms: int) -> dict[float, str]:
    """A few round times along an axis, by where they are on it."""
    seconds = max(span_ms, 1) / 1000
    steps = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
    step = next((one for one in steps if seconds / one <= 8), math.ceil(seconds / 8 / 3600) * 3600)
    count = int(seconds / step)
    return {number * step / seconds: _name_time(number * step) for number in range(count + 1)}


def _name_time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:g} s"
    if seconds < 3600:
        return f"{seconds / 60:g} min"
    return f"{seconds / 3600:g} h"
