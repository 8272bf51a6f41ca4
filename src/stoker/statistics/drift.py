# SPDX-License-Identifier: Apache-2.0
"""How far the values of a feature are from those of another data set: skew and drift."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

from tensorflow_metadata.proto.v0 import statistics_pb2

from stoker.statistics.messages import Stats

Cell: TypeAlias = str | tuple[float, float]
Counts: TypeAlias = dict[Cell, float]
Measure: TypeAlias = Callable[[Stats, Stats], tuple[float, Cell | None]]

_NAN = (math.nan, math.nan)


def infinity_norm(ours: Stats, theirs: Stats) -> tuple[float, Cell | None]:
    """The largest difference between the shares of one value, and that value."""
    return _largest({cell: abs(p - q) for cell, p, q in _shares(*_align(ours, theirs))})


def jensen_shannon_divergence(ours: Stats, theirs: Stats) -> tuple[float, Cell | None]:
    """How much one learns from a value about where it is from: 0 bits if nothing, 1 at most."""
    shares = list(_shares(*_align(ours, theirs)))
    bits = sum(_information(p, (p + q) / 2) + _information(q, (p + q) / 2) for _, p, q in shares)
    return max(0.0, bits / 2), None


def normalized_abs_difference(ours: Stats, theirs: Stats) -> tuple[float, Cell | None]:
    """The largest difference between the counts of one value, as a share of all, and that value."""
    one, other = _align(ours, theirs)
    total = sum(one.values()) + sum(other.values())
    cells = one.keys() | other.keys()
    return _largest({cell: abs(one.get(cell, 0) - other.get(cell, 0)) / total for cell in cells})


MEASURES: dict[str, Measure] = {
    "infinity_norm": infinity_norm,
    "jensen_shannon_divergence": jensen_shannon_divergence,
    "normalized_abs_difference": normalized_abs_difference,
}
"""The measures by the names of their thresholds in a FeatureComparator."""


def words_of(stats: Stats) -> dict[str, float]:
    """How often each word occurs that the statistics name."""
    buckets = stats.string_stats.rank_histogram.buckets
    return {bucket.label: bucket.sample_count for bucket in buckets}


def _align(ours: Stats, theirs: Stats) -> tuple[Counts, Counts]:
    """The counts of both for the same cells: words, or intervals between numbers."""
    if ours.HasField("string_stats") or theirs.HasField("string_stats"):
        return dict(words_of(ours).items()), dict(words_of(theirs).items())
    histograms = [equal_width_histogram(ours), equal_width_histogram(theirs)]
    edges = sorted(
        {edge for one in histograms for b in one.buckets for edge in (b.low_value, b.high_value)}
    )
    first, second = (dict(_cut(histogram, edges)) for histogram in histograms)
    return first, second


def equal_width_histogram(stats: Stats) -> statistics_pb2.Histogram:
    """The histogram of a number's values; an empty one if there is none."""
    standard = statistics_pb2.Histogram.STANDARD
    found = (histogram for histogram in stats.num_stats.histograms if histogram.type == standard)
    return next(found, statistics_pb2.Histogram())


def _cut(histogram: statistics_pb2.Histogram, edges: list[float]) -> Iterator[tuple[Cell, float]]:
    """The buckets, cut at every edge; values are taken to be spread evenly within a bucket."""
    for bucket in histogram.buckets:
        low, high = bucket.low_value, bucket.high_value
        if low == high:
            yield (low, high), bucket.sample_count
        else:
            between = [edge for edge in edges if low <= edge <= high]
            for start, end in itertools.pairwise(between):
                yield (start, end), bucket.sample_count * (end - start) / (high - low)
    if histogram.num_nan:
        yield _NAN, histogram.num_nan


def _shares(ours: Counts, theirs: Counts) -> Iterator[tuple[Cell, float, float]]:
    our_total, their_total = sum(ours.values()), sum(theirs.values())
    for cell in ours.keys() | theirs.keys():
        yield (
            cell,
            ours.get(cell, 0) / our_total if our_total else 0.0,
            theirs.get(cell, 0) / their_total if their_total else 0.0,
        )


def _largest(differences: Counts) -> tuple[float, Cell | None]:
    if not differences:
        return 0.0, None
    cell = max(differences, key=lambda one: (differences[one], str(one)))
    return differences[cell], cell


def _information(share: float, mean: float) -> float:
    return share * math.log2(share / mean) if share else 0.0
