# SPDX-License-Identifier: Apache-2.0
"""Statistics of examples: what StatisticsGen counts, and SchemaGen infers a schema from."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.message import DecodeError
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from stoker.errors import BadData

__all__ = [
    "STATISTICS_FILE",
    "StatisticsOptions",
    "compute_statistics",
    "read_statistics",
    "write_statistics",
]

STATISTICS_FILE = "FeatureStats.pb"

_FeatureStats = statistics_pb2.FeatureNameStatistics
_NOT_TEXT = "__BYTES_VALUE__"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsOptions:
    """How much is counted; the names and defaults are those of TFDV's StatsOptions."""

    feature_allowlist: Iterable[str] | None = None
    num_top_values: int = 20
    num_rank_histogram_buckets: int = 1000
    num_values_histogram_buckets: int = 10
    num_histogram_buckets: int = 10
    num_quantiles_histogram_buckets: int = 10

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if name.startswith("num_") and (not isinstance(value, int) or value < 1):
                raise ValueError(f"StatisticsOptions.{name} must be at least 1, got {value!r}.")


def compute_statistics(
    table: pa.Table,
    schema: schema_pb2.Schema | None = None,
    options: StatisticsOptions | None = None,
) -> statistics_pb2.DatasetFeatureStatisticsList:
    """The statistics of one split: a table whose columns are lists of values.

    An empty list is present and has no values; a null is missing. Integers that the schema calls
    categorical are counted as the strings they stand for.
    """
    options = options or StatisticsOptions()
    features = schema.feature if schema else ()
    categorical = {one.name for one in features if one.int_domain.is_categorical}
    allowed = set(options.feature_allowlist or table.column_names)
    statistics = statistics_pb2.DatasetFeatureStatisticsList()
    dataset = statistics.datasets.add(num_examples=table.num_rows)
    for name in table.column_names:
        if name in allowed:
            stats = _feature_statistics(table.column(name), name in categorical, options)
            stats.path.step.append(name)
            dataset.features.append(stats)
    return statistics


def _feature_statistics(
    column: pa.ChunkedArray, categorical: bool, options: StatisticsOptions
) -> statistics_pb2.FeatureNameStatistics:
    stats = statistics_pb2.FeatureNameStatistics()
    common = _common_statistics(column, options)
    if pa.types.is_null(column.type):  # there is no "unknown", so TFDV says STRING
        stats.type = _FeatureStats.STRING
        stats.string_stats.common_stats.CopyFrom(common)
        return stats
    values = pc.list_flatten(column)
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        stats.type = _FeatureStats.STRING
    else:
        stats.type = _FeatureStats.INT if pa.types.is_integer(values.type) else _FeatureStats.FLOAT
    if stats.type == _FeatureStats.STRING or categorical:
        stats.string_stats.CopyFrom(_string_statistics(values, options))
        stats.string_stats.common_stats.CopyFrom(common)
    else:
        stats.num_stats.CopyFrom(_numeric_statistics(np.asarray(values), options))
        stats.num_stats.common_stats.CopyFrom(common)
    return stats


def _common_statistics(
    column: pa.ChunkedArray, options: StatisticsOptions
) -> statistics_pb2.CommonStatistics:
    common = statistics_pb2.CommonStatistics(
        num_non_missing=len(column) - column.null_count, num_missing=column.null_count
    )
    if common.num_non_missing:
        lengths = np.asarray(pc.list_value_length(column).drop_null())
        common.min_num_values = int(lengths.min())
        common.max_num_values = int(lengths.max())
        common.avg_num_values = float(lengths.mean())
        common.tot_num_values = int(lengths.sum())
        common.num_values_histogram.CopyFrom(
            _quantiles_histogram(lengths, options.num_values_histogram_buckets)
        )
    return common


def _numeric_statistics(
    values: np.ndarray, options: StatisticsOptions
) -> statistics_pb2.NumericStatistics:
    numbers = values.astype(np.float64)
    num_nan = int(np.isnan(numbers).sum())
    numbers = numbers[~np.isnan(numbers)]
    finite = numbers[np.isfinite(numbers)]
    stats = statistics_pb2.NumericStatistics()
    if len(numbers):
        stats.min, stats.max = float(numbers.min()), float(numbers.max())
        stats.num_zeros = int((numbers == 0).sum())
        stats.median = float(np.quantile(numbers, 0.5, method="lower"))
        with np.errstate(invalid="ignore"):  # the mean of both infinities is not a number
            stats.mean = float(numbers.mean())
        stats.std_dev = float(finite.std()) if len(finite) else 0.0
    if len(values):
        stats.histograms.append(_equal_width_histogram(finite, options.num_histogram_buckets))
        stats.histograms.append(
            _quantiles_histogram(numbers, options.num_quantiles_histogram_buckets)
        )
    for histogram in stats.histograms:
        histogram.num_nan = num_nan
    return stats


def _equal_width_histogram(values: np.ndarray, num_buckets: int) -> statistics_pb2.Histogram:
    histogram = statistics_pb2.Histogram(type=statistics_pb2.Histogram.STANDARD)
    if not len(values):
        return histogram
    if values.min() == values.max():  # one bucket without width holds them all
        edges, counts = np.array([values.min(), values.max()]), np.array([len(values)])
    else:
        # Widths are taken after scaling down: the range of float64 does not fit into a float64.
        edges = np.linspace(values.min() / 2, values.max() / 2, num_buckets + 1) * 2
        counts, _ = np.histogram(values, edges)
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        histogram.buckets.add(low_value=low, high_value=high, sample_count=count)
    return histogram


def _quantiles_histogram(values: np.ndarray, num_buckets: int) -> statistics_pb2.Histogram:
    """Buckets that hold the same number of values each."""
    histogram = statistics_pb2.Histogram(type=statistics_pb2.Histogram.QUANTILES)
    if not len(values):
        return histogram
    edges = np.quantile(values, np.linspace(0, 1, num_buckets + 1), method="lower")
    for low, high in itertools.pairwise(edges):
        histogram.buckets.add(
            low_value=low, high_value=high, sample_count=len(values) / num_buckets
        )
    return histogram


def _string_statistics(
    values: pa.ChunkedArray, options: StatisticsOptions
) -> statistics_pb2.StringStatistics:
    stats = statistics_pb2.StringStatistics()
    if not len(values):
        return stats
    if pa.types.is_integer(values.type):
        values = values.cast(pa.large_string())
    values = values.cast(pa.large_binary())
    stats.avg_length = pc.mean(pc.binary_length(values)).as_py()
    counts = [(one["values"], one["counts"]) for one in values.value_counts().to_pylist()]
    counts.sort(key=lambda one: (-one[1], one[0]))
    stats.unique = len(counts)
    labels = [(_label(value), count) for value, count in counts]
    stats.invalid_utf8_count = sum(count for label, count in labels if label == _NOT_TEXT)
    for label, count in labels[: options.num_top_values]:
        stats.top_values.add(value=label, frequency=count)
    for rank, (label, count) in enumerate(labels[: options.num_rank_histogram_buckets]):
        stats.rank_histogram.buckets.add(
            low_rank=rank, high_rank=rank, label=label, sample_count=count
        )
    return stats


def _label(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return _NOT_TEXT


def read_statistics(path: str) -> statistics_pb2.DatasetFeatureStatisticsList:
    """The statistics in a file."""
    try:
        return statistics_pb2.DatasetFeatureStatisticsList.FromString(Path(path).read_bytes())
    except DecodeError as error:
        raise BadData(f"{path} does not hold statistics: {error}.") from error


def write_statistics(statistics: statistics_pb2.DatasetFeatureStatisticsList, path: str) -> None:
    """Write the statistics as a serialized message; the same statistics make the same bytes."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(statistics.SerializeToString(deterministic=True))
