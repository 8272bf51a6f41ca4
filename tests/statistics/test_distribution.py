# SPDX-License-Identifier: Apache-2.0
"""Numbers in batches: exact while they are few, close when they are many."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.statistics.distribution import Distribution, Moments, Summary

NUMBERS = st.floats(width=32, allow_nan=False)
BATCHES = st.lists(st.lists(NUMBERS, max_size=20), max_size=10)
WEIGHTED = st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1, max_size=30)


def distribution(batches, max_points=4096):
    made = Distribution(max_points)
    for batch in batches:
        made.add(np.sort(np.array(batch, np.float64)))
    return made.summary()


def flat(batches):
    return list(itertools.chain.from_iterable(batches))


def counts(histogram):
    return [bucket.sample_count for bucket in histogram.buckets]


@given(BATCHES)
def test_any_batching_is_one_batch(batches):
    in_batches, at_once = distribution(batches), distribution([flat(batches)])
    np.testing.assert_array_equal(in_batches.values, at_once.values)
    np.testing.assert_array_equal(in_batches.weights, at_once.weights)


@given(BATCHES.filter(any))
def test_the_values_are_those_that_numpy_finds(batches):
    values, weights = np.unique(flat(batches), return_counts=True)
    summary = distribution(batches)
    np.testing.assert_array_equal(summary.values, values)
    np.testing.assert_array_equal(summary.weights, weights)


@given(st.lists(NUMBERS, min_size=1), st.integers(1, 12))
def test_histograms_hold_every_value(values, num_buckets):
    summary = distribution([values])
    for histogram in (
        summary.equal_width_histogram(num_buckets),
        summary.quantiles_histogram(num_buckets),
    ):
        assert math.isclose(sum(counts(histogram)), len(values))
        edges = [(one.low_value, one.high_value) for one in histogram.buckets]
        assert all(low <= high for low, high in edges)


@given(st.lists(st.integers(-1000, 1000), min_size=2), st.integers(1, 12))
def test_equal_widths_hold_what_numpy_counts(values, num_buckets):
    values = np.array(values, np.float64)
    buckets = distribution([values]).equal_width_histogram(num_buckets).buckets
    for number, bucket in enumerate(buckets):
        above = values > bucket.low_value if number else values >= bucket.low_value
        assert bucket.sample_count == (above & (values <= bucket.high_value)).sum()


@given(st.lists(NUMBERS, min_size=1))
def test_quantiles_are_values_in_their_order(values):
    ordered = np.sort(np.array(values, np.float32)).astype(np.float64)
    histogram = distribution([values]).quantiles_histogram(4)
    edges = [histogram.buckets[0].low_value, *(one.high_value for one in histogram.buckets)]
    places = [min(len(ordered) * quarter // 4, len(ordered) - 1) for quarter in range(5)]
    np.testing.assert_array_equal(edges, ordered[places])


def test_many_numbers_are_thinned_out_and_their_ranks_stay_close():
    values = np.random.default_rng(7).normal(size=200_000)
    summary = distribution(np.array_split(values, 64), max_points=1024)
    assert len(summary.values) <= 7 * 1024
    assert (summary.values[0], summary.values[-1]) == (values.min(), values.max())
    assert math.isclose(summary.weights.sum(), len(values))
    for tenth, bucket in enumerate(summary.quantiles_histogram(10).buckets, start=1):
        assert abs((values <= bucket.high_value).mean() - tenth / 10) < 7 / 1024


def test_one_value_that_most_have_stays_itself():
    values = np.concatenate([np.zeros(90_000), np.arange(1, 10_001)])
    summary = distribution([values], max_points=64)
    assert summary.values[0] == 0.0
    assert math.isclose(summary.where(summary.values == 0).weights.sum(), 90_000, rel_tol=0.03)


@given(WEIGHTED)
def test_a_weight_is_as_good_as_so_many_occurrences(weighted):
    values, weights = (np.array(one, np.float64) for one in zip(*sorted(weighted), strict=True))
    repeated = np.repeat(values, weights.astype(int))
    made, moments, plain = Distribution(), Moments(), Moments()
    made.add(values, weights)
    moments.add(values, weights)
    plain.add(repeated)
    assert math.isclose(moments.mean, plain.mean, abs_tol=1e-12)
    assert math.isclose(moments.std_dev, plain.std_dev, abs_tol=1e-7)
    if len(repeated):
        assert made.summary().median() == distribution([repeated]).median()


@given(st.lists(st.lists(st.integers(-(2**31), 2**31), max_size=8), max_size=8))
def test_moments_of_batches_are_those_of_all(batches):
    moments = Moments()
    for batch in batches:
        moments.add(np.array(batch, np.float64))
    values = np.array(flat(batches), np.float64)
    if len(values):
        assert math.isclose(moments.mean, values.mean(), rel_tol=1e-9, abs_tol=1e-3)
        assert math.isclose(moments.std_dev, values.std(), rel_tol=1e-9, abs_tol=1e-3)


@pytest.mark.parametrize("values", [[], [1.0, 1.0], [-math.inf, 2.0, math.inf], [5e-324, 0.0]])
def test_extreme_numbers_have_histograms(values):
    summary = distribution([values])
    assert sum(counts(summary.equal_width_histogram(3))) == len(values)
    assert math.isclose(sum(counts(summary.quantiles_histogram(3))), len(values))


def test_infinities_have_buckets_of_their_own():
    histogram = distribution([[-math.inf, 0.0, 1.0, math.inf, math.inf]]).equal_width_histogram(2)
    edges = [(one.low_value, one.high_value) for one in histogram.buckets]
    assert edges == [(-math.inf, -math.inf), (0.0, 0.5), (0.5, 1.0), (math.inf, math.inf)]
    assert counts(histogram) == [1, 1, 1, 2]


def test_a_summary_of_nothing_is_empty():
    assert len(Summary.empty().merge(Summary.empty()).values) == 0
