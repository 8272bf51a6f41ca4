# SPDX-License-Identifier: Apache-2.0
"""Statistics of columns of lists."""

import math

import pyarrow as pa
import pytest
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from stoker.errors import BadData
from stoker.examples.statistics import (
    StatisticsOptions,
    compute_statistics,
    read_statistics,
    write_statistics,
)

INTS = pa.large_list(pa.int64())
FLOATS = pa.large_list(pa.float32())
BYTES = pa.large_list(pa.large_binary())
STATS = statistics_pb2.FeatureNameStatistics


def feature(values, kind, **options):
    table = pa.table({"f": pa.array(values, kind)})
    (dataset,) = compute_statistics(table.to_batches(), options=StatisticsOptions(**options)).datasets
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
    assert (numbers.min, numbers.max, numbers.std_dev) == (1.0, math.inf, 1.0)
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
