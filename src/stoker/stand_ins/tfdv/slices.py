# SPDX-License-Identifier: Apache-2.0
"""Which data set of some statistics is meant: that of all examples, or of one slice."""

from collections.abc import Iterator
from typing import TypeAlias

from tensorflow_metadata.proto.v0 import statistics_pb2

from stoker.stand_ins.tfdv.feature_path import FeaturePath
from stoker.stand_ins.tfdv.files import check_message
from stoker.statistics.compute import ALL_EXAMPLES
from stoker.statistics.messages import Statistics, feature_name

Dataset: TypeAlias = statistics_pb2.DatasetFeatureStatistics


def choose_all_examples(statistics: Statistics) -> Statistics:
    """The statistics of all examples, among those of slices."""
    check_message(statistics, Statistics)
    if len(statistics.datasets) == 1:
        return statistics
    return get_slice_stats(statistics, ALL_EXAMPLES)


def get_slice_stats(stats: Statistics, slice_key: str) -> Statistics:
    """The statistics of one slice."""
    for dataset in stats.datasets:
        if dataset.name == slice_key:
            return Statistics(datasets=[dataset])
    known = ", ".join(repr(dataset.name) for dataset in stats.datasets)
    raise ValueError(f"The statistics have no slice {slice_key!r}; they have {known or 'none'}.")


def get_feature_stats(
    stats: Dataset, feature_path: FeaturePath
) -> statistics_pb2.FeatureNameStatistics:
    """The statistics of one feature of a data set."""
    check_message(stats, Dataset)
    for one in stats.features:
        if feature_name(one) == str(feature_path):
            return one
    known = ", ".join(feature_name(one) for one in stats.features)
    raise ValueError(f"The statistics have no feature {str(feature_path)!r}; they have {known}.")


def get_custom_stats(
    feature_stats: statistics_pb2.FeatureNameStatistics, custom_stats_name: str
) -> object:
    """The custom statistic of this name."""
    for one in feature_stats.custom_stats:
        if one.name == custom_stats_name:
            return getattr(one, one.WhichOneof("val"))
    known = ", ".join(one.name for one in feature_stats.custom_stats) or "none"
    raise ValueError(f"The feature has no custom statistic {custom_stats_name!r}; it has {known}.")


class FeatureView:
    """The statistics of one feature, by the names of TFDV's view."""

    def __init__(self, stats_proto: statistics_pb2.FeatureNameStatistics) -> None:
        self._stats = stats_proto

    def proto(self) -> statistics_pb2.FeatureNameStatistics:
        """The message."""
        return self._stats

    def type(self) -> int:
        """The type of the feature."""
        return int(self._stats.type)

    def path(self) -> FeaturePath:
        """The path of the feature."""
        return FeaturePath.from_string(feature_name(self._stats))

    def custom_statistic(self, name: str) -> object:
        """The custom statistic of this name, or None."""
        found = (one for one in self._stats.custom_stats if one.name == name)
        return next(found, None)

    def numeric_statistics(self) -> statistics_pb2.NumericStatistics | None:
        """The statistics of numbers, or None."""
        return self._stats.num_stats if self._stats.HasField("num_stats") else None

    def string_statistics(self) -> statistics_pb2.StringStatistics | None:
        """The statistics of words, or None."""
        return self._stats.string_stats if self._stats.HasField("string_stats") else None

    def bytes_statistics(self) -> statistics_pb2.BytesStatistics | None:
        """The statistics of bytes, or None."""
        return self._stats.bytes_stats if self._stats.HasField("bytes_stats") else None

    def struct_statistics(self) -> statistics_pb2.StructStatistics | None:
        """The statistics of a struct, or None."""
        return self._stats.struct_stats if self._stats.HasField("struct_stats") else None

    def common_statistics(self) -> statistics_pb2.CommonStatistics | None:
        """What features of every type have, or None."""
        kind = self._stats.WhichOneof("stats")
        return getattr(self._stats, kind).common_stats if kind else None


class DatasetView:
    """The statistics of one data set or slice, by the names of TFDV's view."""

    def __init__(self, stats_proto: Dataset) -> None:
        self._dataset = stats_proto

    def proto(self) -> Dataset:
        """The message."""
        return self._dataset

    def get_feature(self, feature_id: str | FeaturePath) -> FeatureView | None:
        """The view of one feature, or None."""
        found = (one for one in self.list_features() if str(one.path()) == str(feature_id))
        return next(found, None)

    def list_features(self) -> Iterator[FeatureView]:
        """The views of all features."""
        return map(FeatureView, self._dataset.features)


class DatasetListView:
    """Statistics by their slices, by the names of TFDV's view."""

    def __init__(self, stats_proto: Statistics) -> None:
        self._statistics = stats_proto

    def proto(self) -> Statistics:
        """The message."""
        return self._statistics

    def get_slice(self, slice_key: str) -> DatasetView | None:
        """The view of one slice, or None."""
        found = (one for one in self._statistics.datasets if one.name == slice_key)
        return next(map(DatasetView, found), None)

    def get_default_slice(self) -> DatasetView | None:
        """The view of all examples, or None."""
        if len(self._statistics.datasets) == 1:
            return DatasetView(self._statistics.datasets[0])
        return self.get_slice(ALL_EXAMPLES)

    def get_default_slice_or_die(self) -> DatasetView:
        """The view of all examples."""
        return DatasetView(choose_all_examples(self._statistics).datasets[0])

    def list_slices(self) -> Iterator[tuple[str, DatasetView]]:
        """The slices with their views."""
        return ((one.name, DatasetView(one)) for one in self._statistics.datasets)
