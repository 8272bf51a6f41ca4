# SPDX-License-Identifier: Apache-2.0
"""Numbers as statistics see them, batch by batch: their moments, quantiles and histograms."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from tensorflow_metadata.proto.v0 import statistics_pb2

MAX_POINTS = 4096

_Histogram = statistics_pb2.Histogram


class Moments:
    """The mean and the standard deviation of numbers that come in batches."""

    def __init__(self) -> None:
        self.mean = 0.0
        self._weight = 0.0
        self._squares = 0.0

    @property
    def std_dev(self) -> float:
        """The standard deviation of all, taken as the whole population."""
        return math.sqrt(self._squares / self._weight) if self._weight else 0.0

    def add(self, values: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Take in finite numbers, each as often as its weight says."""
        weight = float(len(values) if weights is None else weights.sum())
        if not weight:
            return
        mean = float(np.average(values, weights=weights))
        squares = np.square(values - mean)
        self._join(mean, weight, float((squares if weights is None else squares * weights).sum()))

    def merge(self, other: "Moments") -> None:
        """Take in what another has taken in."""
        if other._weight:
            self._join(other.mean, other._weight, other._squares)

    def _join(self, mean: float, weight: float, squares: float) -> None:
        distance, total = mean - self.mean, self._weight + weight
        self._squares += squares
        self._squares += distance * distance * self._weight * weight / total
        self.mean += distance * weight / total
        self._weight = total


class Distribution:
    """How often which numbers occur: exact while they are few, close when they are many.

    Summaries of batches are merged as ones are carried in a binary counter, and thinned out when
    they grow over `max_points`. So a number is thinned out as often as the counter has digits, and
    a rank is wrong by less than that, in units of `1 / max_points`.
    """

    def __init__(self, max_points: int = MAX_POINTS) -> None:
        self._max_points = max_points
        self._digits: list[Summary | None] = []
        self._infinite = Summary.empty()

    def add(self, ordered: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Take in numbers in ascending order, each as often as its weight says."""
        if weights is None:
            weights = np.ones(len(ordered))
        batch = Summary.of(ordered, weights)
        infinite = np.isinf(batch.values)
        if infinite.any():  # kept apart, so that the extremes of a summary are finite
            self._infinite = self._infinite.merge(batch.where(infinite))
            batch = batch.where(~infinite)
        if len(batch.values):
            self._carry(batch.thin(self._max_points))

    def merge(self, other: "Distribution") -> None:
        """Take in what another has taken in."""
        self._infinite = self._infinite.merge(other._infinite)
        for place, digit in enumerate(other._digits):
            if digit:
                self._digits += [None] * (place - len(self._digits))
                self._carry(digit, place)

    def summary(self) -> "Summary":
        """All that was taken in."""
        whole = self._infinite
        for digit in self._digits:
            whole = whole.merge(digit) if digit else whole
        return whole

    def _carry(self, carried: "Summary", first_place: int = 0) -> None:
        for place in range(first_place, len(self._digits)):
            digit = self._digits[place]
            if digit is None:
                self._digits[place] = carried
                return
            carried = digit.merge(carried).thin(self._max_points)
            self._digits[place] = None
        self._digits.append(carried)


@dataclass(frozen=True, slots=True)
class Summary:
    """Different numbers in ascending order, and the weight of each."""

    values: np.ndarray
    weights: np.ndarray

    @classmethod
    def empty(cls) -> Self:
        """The summary of nothing."""
        return cls(np.empty(0), np.empty(0))

    @classmethod
    def of(cls, ordered: np.ndarray, weights: np.ndarray) -> Self:
        """The summary of numbers in ascending order, among which may be equal ones."""
        if not len(ordered):
            return cls.empty()
        ordered = ordered.astype(np.float64, copy=False) + 0.0  # which makes 0.0 of -0.0
        if ordered[0] == ordered[-1]:
            return cls(ordered[:1], weights.sum(keepdims=True))
        (first,) = np.nonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        return cls(ordered[first], np.add.reduceat(weights, first))

    def where(self, chosen: np.ndarray | slice) -> "Summary":
        """Some of the numbers."""
        return Summary(self.values[chosen], self.weights[chosen])

    def merge(self, other: "Summary") -> "Summary":
        """Both together."""
        values = np.concatenate([self.values, other.values])
        weights = np.concatenate([self.weights, other.weights])
        order = np.argsort(values, kind="stable")
        return Summary.of(values[order], weights[order])

    def thin(self, max_points: int) -> "Summary":
        """The same total on fewer numbers, of equal weight; the least and the greatest stay."""
        if len(self.values) <= max_points:
            return self
        inner = self.where(slice(1, -1))
        up_to = np.cumsum(inner.weights)
        step = up_to[-1] / (max_points - 2)
        middles = (np.arange(max_points - 2) + 0.5) * step
        kept, counts = np.unique(np.searchsorted(up_to, middles), return_counts=True)
        return Summary(
            np.concatenate([self.values[:1], inner.values[kept], self.values[-1:]]),
            np.concatenate([self.weights[:1], counts * step, self.weights[-1:]]),
        )

    def median(self) -> float:
        """The number in the middle, or the greater of the two that are."""
        values, _ = self._at(np.array([0.5]))
        return float(values[0])

    def quantiles_histogram(self, num_buckets: int) -> statistics_pb2.Histogram:
        """Buckets that hold the same number of values each, as far as equal values allow.

        Buckets that end at the same value share what lies between that and the bucket before.
        """
        histogram = _Histogram(type=_Histogram.QUANTILES)
        if not len(self.values):
            return histogram
        edges, up_to = self._at(np.arange(num_buckets + 1) / num_buckets)
        lows, highs = edges[:-1], edges[1:]
        _, first, ending, sharing = np.unique(
            highs, return_index=True, return_inverse=True, return_counts=True
        )
        counts = (np.add.reduceat(np.diff(up_to), first) / sharing)[ending]
        lowest = (lows == lows[0]) & (highs == highs[0])
        counts[lowest] += up_to[0] / lowest.sum()
        for low, high, count in zip(lows, highs, counts, strict=True):
            histogram.buckets.add(low_value=low, high_value=high, sample_count=count)
        return histogram

    def equal_width_histogram(self, num_buckets: int) -> statistics_pb2.Histogram:
        """Buckets of one width from the least to the greatest; infinities have their own."""
        histogram = _Histogram(type=_Histogram.STANDARD)
        infinite = np.isinf(self.values)
        finite = self.where(~infinite)
        edges, counts = finite._equal_buckets(num_buckets)
        buckets = list(zip(edges[:-1], edges[1:], counts, strict=True))
        for value, weight in zip(self.values[infinite], self.weights[infinite], strict=True):
            buckets.insert(0 if value < 0 else len(buckets), (value, value, weight))
        for low, high, count in buckets:
            histogram.buckets.add(low_value=low, high_value=high, sample_count=count)
        return histogram

    def _equal_buckets(self, num_buckets: int) -> tuple[np.ndarray, np.ndarray]:
        if len(self.values) < 2:  # one bucket without width holds them all
            return np.repeat(self.values, 2), self.weights
        # Widths are taken after scaling down: the range of float64 does not fit into a float64.
        edges = np.linspace(self.values[0] / 2, self.values[-1] / 2, num_buckets + 1) * 2
        edges[0], edges[-1] = self.values[0], self.values[-1]
        buckets = np.maximum(np.searchsorted(edges, self.values) - 1, 0)  # each with its upper end
        return edges, np.bincount(buckets, self.weights, minlength=num_buckets)

    def _at(self, fractions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values below which these fractions lie, and how much lies up to each of them."""
        up_to = np.cumsum(self.weights)
        places = np.searchsorted(up_to, fractions * up_to[-1], side="right")
        places = np.minimum(places, len(up_to) - 1)
        return self.values[places], up_to[places]
