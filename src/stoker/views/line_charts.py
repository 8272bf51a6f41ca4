# SPDX-License-Identifier: Apache-2.0
"""Charts large enough to be read off: several lines, smoothed, on a plain or a log axis."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stoker.views.markup import escape
from stoker.views.table import readable_number

Points = Sequence[tuple[float, float]]

NUM_COLOURS = 10
_WIDTH, _HEIGHT = 460, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 10, 26
_MANY_POINTS = 400
_FEW_POINTS = 25
_NUM_TICKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """Which values are where."""

    x: tuple[float, float]
    y: tuple[float, float]
    is_log: bool = False

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Where a point is in the picture."""
        across = _share(x, *self.x)
        up = _share(self._scale(y), self._scale(self.y[0]), self._scale(self.y[1]))
        return (
            _LEFT + across * (_WIDTH - _LEFT - _RIGHT),
            _TOP + (1 - up) * (_HEIGHT - _TOP - _BOTTOM),
        )

    def _scale(self, value: float) -> float:
        return math.log10(value) if self.is_log else value


def _share(value: float, low: float, high: float) -> float:
    return 0.5 if high == low else (value / 2 - low / 2) / (high / 2 - low / 2)


def smooth(points: Points, weight: float) -> list[tuple[float, float]]:
    """The mean of each value and those before it, the near ones more; without a bias to zero."""
    smoothed, last, mass = [], 0.0, 0.0
    for x, y in points:
        last = weight * last + (1 - weight) * y
        mass = weight * mass + (1 - weight)
        smoothed.append((x, last / mass))
    return smoothed


def thin_out(points: Points, most: int = _MANY_POINTS) -> list[tuple[float, float]]:
    """At most so many points, with the lowest and the highest of each stretch."""
    if len(points) <= most:
        return list(points)
    size = math.ceil(len(points) / (most // 2))
    kept: list[tuple[float, float]] = []
    for start in range(0, len(points), size):
        few = points[start : start + size]
        ends = {min(few, key=lambda one: one[1]), max(few, key=lambda one: one[1])}
        kept += sorted(ends)
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]


def draw_lines(
    lines: Mapping[str, Points],
    colours: Mapping[str, int],
    *,
    across: str = "step",
    smoothing: float = 0.0,
    is_log: bool = False,
    label: str = "",
) -> str:
    """Lines through points, each in its colour; of a smoothed one, the values are faint."""
    finite = {
        name: thin_out(
            [(float(x), float(y)) for x, y in points if math.isfinite(y) and (y > 0 or not is_log)]
        )
        for name, points in lines.items()
    }
    found = [point for points in finite.values() for point in points]
    if not found:
        return '<p class="about">There are no numbers to draw.</p>'
    xs, ys = zip(*found, strict=True)
    axes = Axes(x=(min(xs), max(xs)), y=_widen(min(ys), max(ys), is_log=is_log), is_log=is_log)
    drawn = [*_draw_axes(axes, across)]
    for name, points in finite.items():
        colour = f"series-{colours[name] % NUM_COLOURS}"
        if smoothing and len(points) > 2:
            drawn.append(_draw_line(points, axes, f"{colour} faint"))
            points = smooth(points, smoothing)
        drawn.append(_draw_line(points, axes, colour))
        for x, y in points if len(points) <= _FEW_POINTS else points[-1:]:
            left, top = axes.place(x, y)
            tip = f"{name}: {readable_number(y)} at {across} {x:,.6g}"
            drawn.append(
                f'<circle class="{colour}" cx="{left:.1f}" cy="{top:.1f}" r="3">'
                f"<title>{escape(tip)}</title></circle>"
            )
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img" aria-label="{escape(label or across)}">'
        f"{''.join(drawn)}</svg>"
    )


def _draw_line(points: Points, axes: Axes, style: str) -> str:
    line = " ".join("{:.1f},{:.1f}".format(*axes.place(*point)) for point in points)
    return f'<polyline class="{style}" points="{line}"/>'


def _widen(low: float, high: float, *, is_log: bool) -> tuple[float, float]:
    """Limits with a little room, so that a flat line is in the middle."""
    if is_log:
        return (low / 1.1, high * 1.1)
    room = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return low - room, high + room


def _draw_axes(axes: Axes, across: str) -> Iterator[str]:
    for value in find_ticks(*axes.y, is_log=axes.is_log):
        _, y = axes.place(axes.x[0], value)
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield (
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{escape(readable_number(value))}</text>"
        )
    bottom = _HEIGHT - 8
    ends = dict.fromkeys(axes.x)
    for number, x in enumerate(ends):
        left, _ = axes.place(x, axes.y[0])
        anchor = "end" if number else "start"
        text = f"{across} {x:,.6g}" if not number else f"{x:,.6g}"
        yield f'<text x="{left:.1f}" y="{bottom}" text-anchor="{anchor}">{escape(text)}</text>'


def find_ticks(low: float, high: float, *, is_log: bool = False) -> list[float]:
    """Round values between two limits."""
    if is_log:
        first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
        powers = [10.0**power for power in range(first, last + 1)]
        if len(powers) > 1:
            return powers[:: math.ceil(len(powers) / 8)]
    if not high > low or not math.isfinite(high - low):
        return [low]
    rough = (high - low) / _NUM_TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * one for one in (1, 2, 5, 10) if size * one >= rough)
    start = math.ceil(low / step)
    return [number * step for number in range(start, math.floor(high / step) + 1)]
