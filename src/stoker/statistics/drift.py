# SPDX-License-Identifier: Apache-2.0
"""How far the values of a feature are from those of another data set: skew and drift."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

from tensorflow_metadata.proto.v0 import statistics_pb2

from stoker.statistics.messages import Stats

Cell: TypeAlias = str | tuple[object, ...]
Counts: TypeAlias = dict[Cell, float]
Measure: TypeAlias = Callable[[Stats, Stats], tuple[float, Cell | None] | None]


def infinity_norm(ours: Stats, theirs: Stats) -> tuple[float, Cell | None]:
    """The largest difference between the shares of one word, and that word; numbers have none."""
    shares = _shares(dict(words_of(ours).items()), dict(words_of(theirs).items()))
    return _largest({cell: abs(p - q) for cell, p, q in shares})


def normalized_abs_difference(ours: Stats, theirs: Stats) -> tuple[float, Cell | None]:
    """The largest difference between the counts of one word, as a share of all, and that word."""
    one, other = words_of(ours), words_of(theirs)
    total = sum(one.values()) + sum(other.values())
    cells = one.keys() | other.keys()
    return _largest({cell: abs(one.get(cell, 0) - other.get(cell, 0)) / total for cell in cells})


def jensen_shannon_divergence(ours: Stats, theirs: Stats) -> tuple[float, Cell | None] | None:
    """How much one learns from a value about where it is from: 0 bits if nothing, 1 at most.

    None if there is nothing to compare on one side, or words on one and numbers on the other.
    """
    one, other = _align(ours, theirs)
    if not one or not other or ours.WhichOneof("stats") != theirs.WhichOneof("stats"):
        return None
    shares = list(_shares(one, other))
    bits = sum(_information(p, (p + q) / 2) + _information(q, (p + q) / 2) for _, p, q in shares)
    return max(0.0, bits / 2), None


MEASURES: dict[str, Measure] = {
    "infinity_norm": infinity_norm,
    "normalized_abs_difference": normalized_abs_difference,
    "jensen_shannon_divergence": jensen_shannon_divergence,
}
"""The measures by the names of their thresholds in a FeatureComparator."""


def words_of(stats: Stats, *, weighted: bool = True) -> dict[str, float]:
    """How often each word occurs that the statistics name; by weight, where examples have one.

    All that is not text has one name; the most frequent of it is meant, as by TFDV.
    """
    counted = stats.string_stats
    if weighted and counted.HasField("weighted_string_stats"):
        counted = counted.weighted_string_stats
    words: dict[str, float] = {}
    for bucket in counted.rank_histogram.buckets:
        words.setdefault(bucket.label, bucket.sample_count)
    return words


def _align(ours: Stats, theirs: Stats) -> tuple[Counts, Counts]:
    """The counts of both for the same cells: words, or intervals between numbers."""
    if ours.HasField("string_stats") or theirs.HasField("string_stats"):
        return dict(words_of(ours).items()), dict(words_of(theirs).items())
    histograms = [equal_width_histogram(ours), equal_width_histogram(theirs)]
    edges = sorted(
        {edge for one in histograms for b in one.buckets for edge in (b.low_value, b.high_value)}
    )
    first, second = (
        dict(_cut(histogram, edges, whose)) for whose, histogram in enumerate(histograms)
    )
    return first, second


def equal_width_histogram(stats: Stats, *, weighted: bool = True) -> statistics_pb2.Histogram:
    """The histogram of a number's values, by weight if there are weights; else an empty one."""
    counted = stats.num_stats
    if weighted and counted.HasField("weighted_numeric_stats"):
        counted = counted.weighted_numeric_stats
    standard = statistics_pb2.Histogram.STANDARD
    found = (histogram for histogram in counted.histograms if histogram.type == standard)
    return next(found, statistics_pb2.Histogram())


def _cut(
    histogram: statistics_pb2.Histogram, edges: list[float], whose: int
) -> Iterator[tuple[Cell, float]]:
    """The buckets, cut at every edge; values are taken to be spread evenly within a bucket.

    What is not finite is of its own side only: to TFDV, NaN and infinities of two data sets are
    always different, so that data with them drifts from its own copy.
    """
    for bucket in histogram.buckets:
        low, high = bucket.low_value, bucket.high_value
        if math.isinf(low) or math.isinf(high):
            yield (low, high, whose), bucket.sample_count
        elif low == high:
            yield (low, high), bucket.sample_count
        else:
            between = [edge for edge in edges if low <= edge <= high]
            for start, end in itertools.pairwise(between):
                yield (start, end), bucket.sample_count * (end - start) / (high - low)
    if histogram.num_nan:
        yield ("nan", whose), histogram.num_nan


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
