# SPDX-License-Identifier: Apache-2.0
"""Statistics of columns of lists."""

import collections
import math
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from stoker.errors import BadData
from stoker.statistics.compute import Counts, compute_statistics, read_statistics, write_statistics
from stoker.statistics.feature_statistics import StatisticsOptions

INTS = pa.large_list(pa.int64())
FLOATS = pa.large_list(pa.float32())
BYTES = pa.large_list(pa.large_binary())
STATS = statistics_pb2.FeatureNameStatistics


def feature(values, kind, **options):
    table = pa.table({"f": pa.array(values, kind)})
    (dataset,) = compute_statistics(
        table.to_batches(), options=StatisticsOptions(**options)
    ).datasets
    assert dataset.num_examples == len(values)
    (stats,) = dataset.features
    assert list(stats.path.step) == ["f"]
    return stats


def test_an_empty_list_is_present_and_a_null_is_missing():
    common = feature([[1, 2], [], None], INTS).num_stats.common_stats
    assert (common.num_non_missing, common.num_missing) == (2, 1)
    assert (common.min_num_values, common.max_num_values, common.tot_num_values) == (0, 2, 2)
    assert common.avg_num_values == 1.0


def test_numbers_have_moments_and_histograms():
    stats = feature([[value] for value in range(10)] + [[0]], INTS)
    numbers = stats.num_stats
    assert stats.type == STATS.INT
    assert (numbers.min, numbers.max, numbers.median, numbers.num_zeros) == (0, 9, 4, 2)
    assert math.isclose(numbers.mean, 45 / 11)
    assert math.isclose(numbers.std_dev, math.sqrt(285 / 11 - (45 / 11) ** 2))
    width, quantiles = numbers.histograms
    assert [bucket.sample_count for bucket in width.buckets] == [2, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    assert len(quantiles.buckets) == 10
    assert math.isclose(sum(bucket.sample_count for bucket in quantiles.buckets), 11)


def test_nan_and_infinity_do_not_spoil_the_rest():
    numbers = feature([[1.0], [3.0], [math.nan], [math.inf]], FLOATS).num_stats
    assert (numbers.min, numbers.median, numbers.max) == (1.0, 3.0, math.inf)
    assert math.isnan(numbers.mean)
    assert numbers.std_dev == 0
    assert [histogram.num_nan for histogram in numbers.histograms] == [1, 1]


@pytest.mark.parametrize("values", [[[math.nan]], [[]], [[7.0], [7.0]], [[math.inf, -math.inf]]])
def test_columns_of_nothing_of_one_value_and_of_no_number_are_counted(values):
    assert feature(values, FLOATS).num_stats.common_stats.num_non_missing == len(values)


def test_text_has_its_most_frequent_values_first_and_ties_as_TFDV_has_them():
    stats = feature([[b"b"], [b"a"], [b"ccc"], [b"ccc"]], BYTES, num_top_values=2)
    strings = stats.string_stats
    assert stats.type == STATS.STRING
    assert (strings.unique, strings.avg_length) == (3, 2.0)
    assert [(top.value, top.frequency) for top in strings.top_values] == [("ccc", 2), ("b", 1)]
    assert [bucket.label for bucket in strings.rank_histogram.buckets] == ["ccc", "b", "a"]


def test_bytes_that_are_not_text_are_counted_but_not_shown():
    strings = feature([[b"\xff"], [b"a"]], BYTES).string_stats
    assert strings.invalid_utf8_count == 1
    assert {top.value for top in strings.top_values} == {"a", "__BYTES_VALUE__"}


def test_a_column_that_is_empty_everywhere_is_missing_everywhere():
    stats = feature([None, None], pa.null())
    assert stats.string_stats.common_stats.num_missing == 2


def test_integers_that_the_schema_calls_categorical_are_counted_as_words():
    schema = schema_pb2.Schema()
    schema.feature.add(name="f", type=schema_pb2.INT).int_domain.is_categorical = True
    table = pa.table({"f": pa.array([[7], [7], [8]], INTS)})
    (stats,) = compute_statistics(table.to_batches(), schema).datasets[0].features
    assert stats.type == STATS.INT
    assert [top.value for top in stats.string_stats.top_values] == ["7", "8"]


def test_only_the_features_asked_for_are_counted():
    table = pa.table({name: pa.array([[1]], INTS) for name in ("a", "b")})
    options = StatisticsOptions(feature_allowlist=["b"])
    (dataset,) = compute_statistics(table.to_batches(), options=options).datasets
    assert [stats.path.step[0] for stats in dataset.features] == ["b"]


def test_options_say_what_is_wrong_with_them():
    with pytest.raises(ValueError, match="num_top_values must be at least 1, got 0"):
        StatisticsOptions(num_top_values=0)


def test_statistics_come_back_from_their_file(tmp_path):
    path = str(tmp_path / "Split-train" / "FeatureStats.pb")
    statistics = compute_statistics([pa.record_batch({"f": pa.array([[1]], INTS)})])
    write_statistics(statistics, path)
    assert read_statistics(path) == statistics


def test_a_file_that_holds_no_statistics_is_named(tmp_path):
    (tmp_path / "FeatureStats.pb").write_bytes(b"\x0f no")
    with pytest.raises(BadData, match=r"FeatureStats\.pb does not hold statistics"):
        read_statistics(str(tmp_path / "FeatureStats.pb"))


def batched(columns, sizes):
    table = pa.table(columns)
    starts = np.cumsum([0, *sizes])
    cuts = [table.slice(start, size) for start, size in zip(starts, sizes, strict=False)]
    return [batch for cut in [*cuts, table.slice(starts[-1])] for batch in cut.to_batches()]


def lists(values):
    return st.lists(st.none() | st.lists(values, max_size=3), min_size=8, max_size=8)


@settings(max_examples=40)
@given(
    ints=lists(st.integers(-(2**63), 2**63 - 1)),
    floats=lists(st.floats(width=32)),
    words=lists(st.sampled_from([b"a", b"b", b"", "ü".encode(), b"\xff"])),
    sizes=st.lists(st.integers(0, 3), max_size=4),
)
def test_any_batching_has_the_statistics_of_one_batch(ints, floats, words, sizes):
    columns = {
        "int": pa.array(ints, INTS),
        "float": pa.array(floats, FLOATS),
        "word": pa.array(words, BYTES),
    }
    in_batches, at_once = (compute_statistics(batched(columns, cuts)) for cuts in (sizes, []))
    in_shards = count_in_shards(batched(columns, sizes))
    for statistics in (in_batches, at_once, in_shards):
        for one in statistics.datasets[0].features:
            for moment in ("mean", "std_dev"):  # another order of sums is another rounding
                one.num_stats.ClearField(moment)
    assert str(in_batches) == str(at_once)
    assert str(in_shards) == str(at_once)


def count_in_shards(batches, **options):
    """Each batch counted by itself, as by a process of its own."""
    total = Counts.of([], **options)
    for batch in batches:
        total.merge(pickle.loads(pickle.dumps(Counts.of([batch], **options))))
    return total.describe()


def test_shards_of_many_numbers_and_words_are_merged_within_the_same_error():
    random = np.random.default_rng(3)
    numbers, words = random.gamma(2, 3, 200_000), random.zipf(1.3, 200_000)
    batches = batched(
        {
            "x": pa.array(numbers[:, None].tolist(), FLOATS),
            "w": pa.array([[b"%d" % word] for word in words], BYTES),
            "weight": pa.array([[1.5]] * 200_000, FLOATS),
        },
        [20_000] * 9,
    )
    options = StatisticsOptions(weight_feature="weight", enable_semantic_domain_stats=True)
    (whole,) = compute_statistics(batches, options=options).datasets
    (merged,) = count_in_shards(batches, options=options).datasets
    assert merged.weighted_num_examples == whole.weighted_num_examples == 300_000
    x, expected = merged.features[0].num_stats, whole.features[0].num_stats
    assert (x.min, x.max) == (expected.min, expected.max)
    assert math.isclose(x.mean, expected.mean, rel_tol=1e-12)
    assert math.isclose(x.std_dev, expected.std_dev, rel_tol=1e-9)
    rank = (np.sort(numbers.astype(np.float32)) < x.median).mean()
    assert abs(rank - 0.5) < 0.005
    w, expected = merged.features[1].string_stats, whole.features[1].string_stats
    assert w.unique == expected.unique
    assert [one.value for one in w.top_values] == [one.value for one in expected.top_values]
    assert w.top_values[0].frequency == expected.top_values[0].frequency


@settings(max_examples=40)
@given(lists(st.floats(-1e6, 1e6, width=32)).filter(lambda many: any(many)))
def test_numbers_are_counted_as_numpy_counts_them(rows):
    numbers = feature(rows, FLOATS).num_stats
    values = np.array([value for row in rows if row for value in row], np.float64)
    assert (numbers.min, numbers.max) == (values.min(), values.max())
    assert math.isclose(numbers.mean, values.mean(), abs_tol=1e-6)
    assert math.isclose(numbers.std_dev, values.std(), rel_tol=1e-6, abs_tol=1e-6)
    assert numbers.num_zeros == (values == 0).sum()
    assert numbers.median == np.sort(values)[len(values) // 2]
    assert numbers.common_stats.num_missing == rows.count(None)
    assert numbers.common_stats.tot_num_values == len(values)


@settings(max_examples=40)
@given(lists(st.text(max_size=2)).filter(lambda many: any(many)))
def test_words_are_counted_as_a_counter_counts_them(rows):
    strings = feature([row and [word.encode() for word in row] for row in rows], BYTES).string_stats
    words = collections.Counter(word for row in rows if row for word in row)
    assert {one.label: one.sample_count for one in strings.rank_histogram.buckets} == words
    assert strings.unique == len(words)
    assert strings.top_values[0].frequency == max(words.values())


def test_columns_that_only_some_batches_have_are_missing_in_the_others():
    batches = [pa.record_batch({"f": pa.array([[1]], INTS)}), pa.record_batch({"g": pa.nulls(2)})]
    (dataset,) = compute_statistics(batches).datasets
    assert [one.path.step[0] for one in dataset.features] == ["f", "g"]
    assert dataset.features[0].num_stats.common_stats.num_missing == 2
    assert dataset.features[1].string_stats.common_stats.num_missing == 3


def test_a_feature_that_changes_its_type_is_named():
    batches = [
        pa.record_batch({"f": pa.array([value], kind)})
        for value, kind in ([[1], INTS], [[b"x"], BYTES])
    ]
    with pytest.raises(BadData, match="'f' has values of type INT, and later of type STRING"):
        compute_statistics(batches)


def test_no_examples_have_no_features():
    (dataset,) = compute_statistics([]).datasets
    assert (dataset.num_examples, len(dataset.features)) == (0, 0)


def test_long_values_are_named_as_they_are():
    strings = feature([[b"x" * 2000], [b"x" * 2001], [b"x" * 2001]], BYTES).string_stats
    assert [(len(one.value), one.frequency) for one in strings.top_values] == [(2001, 2), (2000, 1)]


def test_sketches_count_long_values_together_and_do_not_show_them():
    strings = feature(
        [[b"x" * 2000], [b"y" * 2000], [b"z"]], BYTES, use_sketch_based_topk_uniques=True
    ).string_stats
    assert strings.unique == 3
    assert [(one.value, one.frequency) for one in strings.top_values] == [
        ("__LARGE_BYTES__", 2),
        ("z", 1),
    ]


def weighted(**columns):
    options = StatisticsOptions(weight_feature="w")
    return compute_statistics([pa.record_batch(columns)], options=options).datasets[0]


def test_a_weight_feature_adds_weighted_statistics():
    dataset = weighted(
        n=pa.array([[1, 2], [4], None], INTS),
        s=pa.array([[b"a"], [b"b"], [b"b"]], BYTES),
        w=pa.array([[0.5], [2.0], [1.0]], FLOATS),
    )
    assert dataset.weighted_num_examples == 3.5
    n, s, _ = dataset.features
    common = n.num_stats.common_stats.weighted_common_stats
    assert (common.num_non_missing, common.num_missing, common.tot_num_values) == (2.5, 1.0, 3.0)
    numbers = n.num_stats.weighted_numeric_stats
    assert (numbers.mean, numbers.median) == (9.5 / 3, 4.0)
    assert n.num_stats.mean == 7 / 3
    top = s.string_stats.weighted_string_stats.top_values
    assert [(one.value, one.frequency) for one in top] == [("b", 3.0)]


@pytest.mark.parametrize(
    "weights",
    [
        pa.array([[1.0], None], FLOATS),
        pa.array([[1.0], [1.0, 2.0]], FLOATS),
        pa.array([[1.0], [-1.0]], FLOATS),
        pa.array([[b"1"], [b"1"]], BYTES),
        pa.nulls(2),
    ],
)
def test_weights_have_to_be_one_number_in_every_example(weights):
    with pytest.raises(BadData, match="weight feature 'w' has to be one number"):
        weighted(w=weights)


def test_a_weight_feature_that_is_not_there_is_named():
    with pytest.raises(BadData, match="weight feature 'w'"):
        weighted(n=pa.array([[1]], INTS))
