# SPDX-License-Identifier: Apache-2.0
"""Small charts as SVG: histograms of numbers, frequencies of words, courses of metrics."""

import math
from collections.abc import Mapping, Sequence

from tensorflow_metadata.proto.v0 import statistics_pb2

from stoker.views.markup import escape
from stoker.views.table import readable_number

_WIDTH, _HEIGHT = 320, 90
_ROW = 18
_LABEL = 120
_AXIS = 54
_MANY_POINTS = 40


def histogram_chart(
    histograms: Mapping[str, statistics_pb2.Histogram], colours: Mapping[str, str]
) -> str:
    """The equal-width histograms of some splits over one axis, as high as their share of all.

    `colours` are the style classes of the splits.
    """
    buckets = {split: _finite(histogram) for split, histogram in histograms.items()}
    edges = [edge for many in buckets.values() for bucket in many for edge in _edges(bucket)]
    if not edges:
        return ""
    low, high = min(edges), max(edges)
    shares = {split: _shares(many) for split, many in buckets.items()}
    tallest = max(share for many in shares.values() for share in many) or 1.0
    bars = []
    for number, (split, many) in enumerate(buckets.items()):
        style = f"{colours[split]} over" if number else colours[split]  # what is below is seen
        for bucket, share in zip(many, shares[split], strict=True):
            start, end = (_place(edge, low, high) for edge in _edges(bucket))
            height = share / tallest * (_HEIGHT - 2)
            tip = (
                f"{split}: {share:.1%} from {readable_number(bucket.low_value)} "
                f"to {readable_number(bucket.high_value)}"
            )
            bars.append(
                f'<rect class="{style}" x="{start:.1f}" y="{_HEIGHT - height:.1f}" '
                f'width="{max(end - start, 1.5):.1f}" height="{height:.1f}">'
                f"<title>{escape(tip)}</title></rect>"
            )
    axis = (
        f'<text x="0" y="{_HEIGHT + 14}">{escape(readable_number(low))}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT + 14}" text-anchor="end">'
        f"{escape(readable_number(high))}</text>"
    )
    return _svg(
        _HEIGHT + 18,
        f'{"".join(bars)}<line x1="0" x2="{_WIDTH}" y1="{_HEIGHT}" y2="{_HEIGHT}"/>{axis}',
        f"Histogram of {', '.join(histograms)}",
    )


def words_chart(
    shares: Mapping[str, Mapping[str, float]], colours: Mapping[str, str], num_words: int = 8
) -> str:
    """The most frequent words of some splits, as bars as long as their share of all values."""
    totals: dict[str, float] = {}
    for words in shares.values():
        for word, share in words.items():
            totals[word] = totals.get(word, 0.0) + share
    shown = sorted(totals, key=lambda word: -totals[word])[:num_words]
    longest = max((words.get(word, 0.0) for words in shares.values() for word in shown), default=0)
    if not longest:
        return ""
    room = _WIDTH - _LABEL
    drawn = []
    for row, word in enumerate(shown):
        label = word if len(word) <= 15 else word[:14] + "…"
        drawn.append(
            f'<text x="{_LABEL - 6}" y="{row * _ROW + 12}" text-anchor="end">'
            f"{escape(label) or '(empty)'}<title>{escape(word)}</title></text>"
        )
        thickness = (_ROW - 5) / len(shares)
        for number, (split, words) in enumerate(shares.items()):
            share = words.get(word, 0.0)
            drawn.append(
                f'<rect class="{colours[split]}" x="{_LABEL}" '
                f'y="{row * _ROW + 2 + number * thickness:.1f}" '
                f'width="{share / longest * room:.1f}" height="{thickness:.1f}">'
                f"<title>{escape(f'{split}: {word}, {share:.1%}')}</title></rect>"
            )
    return _svg(len(shown) * _ROW + 2, "".join(drawn), f"Shares of {', '.join(shown)}")


def curves_chart(
    curves: Mapping[str, Sequence[tuple[int, float]]],
    colours: Mapping[str, str],
    *,
    across: str = "step",
) -> str:
    """The course of one metric in some splits: a line through its values, step by step."""
    finite = {
        split: [point for point in many if math.isfinite(point[1])]
        for split, many in curves.items()
    }
    steps = [step for many in finite.values() for step, _ in many]
    values = [value for many in finite.values() for _, value in many]
    if not values:
        return ""
    limits = min(steps), max(steps), min(values), max(values)
    drawn = [_grid(*limits, (f"{across} {limits[0]:,}", f"{limits[1]:,}"))]
    for split, points in finite.items():
        places = [(*_spot(step, value, *limits), step, value) for step, value in points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in places)
        drawn.append(f'<polyline class="{colours[split]}" points="{line}"/>')
        for x, y, step, value in places if len(places) <= _MANY_POINTS else places[-1:]:
            when = f"after {step:,} steps" if across == "step" else f"at {across} {step:,}"
            tip = escape(f"{split}: {readable_number(value)} {when}".removeprefix(": "))
            drawn.append(
                f'<circle class="{colours[split]}" cx="{x:.1f}" cy="{y:.1f}" r="2.5">'
                f"<title>{tip}</title></circle>"
            )
    return _svg(_HEIGHT + 24, "".join(drawn), f"Course in {', '.join(curves)}")


def line_chart(
    points: Sequence[tuple[float, float]], across: str, *, diagonal: bool = False
) -> str:
    """A line through points; `diagonal` draws where both of their numbers would be equal."""
    finite = [point for point in points if all(map(math.isfinite, point))]
    if not finite:
        return ""
    firsts, seconds = zip(*finite, strict=True)
    limits = min(firsts), max(firsts), min(seconds), max(seconds)
    ends = (f"{across} {readable_number(limits[0])}", readable_number(limits[1]))
    drawn = [_grid(*limits, ends)]
    if diagonal:
        low, high = max(limits[0], limits[2]), min(limits[1], limits[3])
        (x1, y1), (x2, y2) = (_spot(one, one, *limits) for one in (low, high))
        drawn.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
    line = " ".join("{:.1f},{:.1f}".format(*_spot(*point, *limits)) for point in finite)
    drawn.append(f'<polyline class="split-0" points="{line}"/>')
    return _svg(_HEIGHT + 24, "".join(drawn), f"A line by {across}")


def _grid(first: float, last: float, low: float, high: float, ends: tuple[str, str]) -> str:
    """The lines of the lowest and the highest value, and what they and the ends stand for."""
    parts = []
    for value in dict.fromkeys((low, high)):
        _, y = _spot(first, value, first, last, low, high)
        parts.append(f'<line x1="{_AXIS}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text x="{_AXIS - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{escape(readable_number(value))}</text>"
        )
    for x, anchor, text in zip((_AXIS, _WIDTH), ("start", "end"), ends, strict=True):
        parts.append(
            f'<text x="{x}" y="{_HEIGHT + 20}" text-anchor="{anchor}">{escape(text)}</text>'
        )
    return "".join(parts)


def _spot(
    step: float, value: float, first: float, last: float, low: float, high: float
) -> tuple[float, float]:
    """Where a value is in the chart; one that is alone is in the middle."""
    across = _place(step, first, last) / _WIDTH
    up = _place(value, low, high) / _WIDTH
    return _AXIS + across * (_WIDTH - _AXIS - 4), 6 + (1 - up) * (_HEIGHT - 6)


def _svg(height: float, content: str, label: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" '
        f'aria-label="{escape(label)}">{content}</svg>'
    )


def _finite(histogram: statistics_pb2.Histogram) -> list[statistics_pb2.Histogram.Bucket]:
    return [bucket for bucket in histogram.buckets if all(map(math.isfinite, _edges(bucket)))]


def _edges(bucket: statistics_pb2.Histogram.Bucket) -> tuple[float, float]:
    return bucket.low_value, bucket.high_value


def _shares(buckets: Sequence[statistics_pb2.Histogram.Bucket]) -> list[float]:
    total = sum(bucket.sample_count for bucket in buckets)
    return [bucket.sample_count / total if total else 0.0 for bucket in buckets]


def _place(value: float, low: float, high: float) -> float:
    if low == high:
        return _WIDTH / 2
    return (value / 2 - low / 2) / (high / 2 - low / 2) * _WIDTH
