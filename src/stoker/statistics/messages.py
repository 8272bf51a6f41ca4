# SPDX-License-Identifier: Apache-2.0
"""The messages that statistics are: their features, and how they are kept in files, as by TFX."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias, TypeVar

from google.protobuf.message import DecodeError, Message
from tensorflow_metadata.proto.v0 import statistics_pb2

from stoker.errors import BadData

Statistics: TypeAlias = statistics_pb2.DatasetFeatureStatisticsList
Stats: TypeAlias = statistics_pb2.FeatureNameStatistics
"""The statistics of one feature."""
_Kind = TypeVar("_Kind", bound=Message)

DOMAIN_INFO = "domain_info"
"""The custom statistic that says what values look like, from where a schema takes its domain."""


def features_of(statistics: Statistics) -> Iterator[tuple[str, Stats]]:
    """The features of all datasets, with their names."""
    for dataset in statistics.datasets:
        for stats in dataset.features:
            yield feature_name(stats), stats


def feature_name(stats: Stats) -> str:
    """The name of the feature that these statistics are of."""
    return ".".join(stats.path.step) if stats.HasField("path") else str(stats.name)


def count_examples(statistics: Statistics) -> int:
    """How many examples all datasets have."""
    return sum(dataset.num_examples for dataset in statistics.datasets)


def weigh_examples(statistics: Statistics) -> float:
    """The weight of all examples, or their number if they have no weights."""
    return float(sum(one.weighted_num_examples or one.num_examples for one in statistics.datasets))


def count_presence(common: statistics_pb2.CommonStatistics) -> tuple[float, float]:
    """How many examples have a feature and how many lack it; by weight, where they have one."""
    if common.HasField("weighted_common_stats"):
        common = common.weighted_common_stats
    return common.num_non_missing, common.num_missing


def count_empty(common: statistics_pb2.CommonStatistics) -> tuple[float, bool]:
    """How many examples have a feature and no value of it, and whether that is a count.

    An empty cell of a CSV file is one of these. Where examples may have several values, only
    quantiles of how many are known: if none of them is 0, it is the most that there may be.
    """
    if common.max_num_values <= 1:
        return common.num_non_missing - common.tot_num_values, True
    if common.min_num_values:
        return 0, True
    buckets = common.num_values_histogram.buckets
    if empty := [bucket.sample_count for bucket in buckets if not bucket.high_value]:
        return sum(empty), True
    return sum(bucket.sample_count for bucket in buckets[:1]), False


def read_message(path: str, kind: type[_Kind], what: str) -> _Kind:
    """The message in a file, which should hold `what`."""
    try:
        return kind.FromString(Path(path).read_bytes())
    except DecodeError as error:
        raise BadData(f"{path} does not hold {what}: {error}. Name a file that does.") from error


def write_message(message: Message, path: str) -> None:
    """Write a message; equal ones make the same bytes."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(message.SerializeToString(deterministic=True))
