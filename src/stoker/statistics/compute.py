# SPDX-License-Identifier: Apache-2.0
"""Statistics of examples: what StatisticsGen counts, and SchemaGen infers a schema from."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from stoker.errors import BadData
from stoker.statistics.feature_statistics import FeatureCounts, StatisticsOptions
from stoker.statistics.messages import Statistics, read_message, write_message

STATISTICS_FILE = "FeatureStats.pb"
ALL_EXAMPLES = "All Examples"
"""The name of the dataset that is not a slice, where there are slices."""

Slicer: TypeAlias = Callable[[pa.RecordBatch], Iterable[tuple[str | None, pa.RecordBatch]]]


def compute_statistics(
    batches: Iterable[pa.RecordBatch],
    schema: schema_pb2.Schema | None = None,
    options: StatisticsOptions | None = None,
    slicers: Sequence[Slicer] = (),
) -> Statistics:
    """The statistics of one split, from batches whose columns are lists of values."""
    return Counts.of(batches, schema, options, slicers).describe()


class Counts:
    """What is counted of a split, or of a shard of it: all examples, and each slice of them.

    It can be pickled, and merged with that of other shards.
    """

    def __init__(self, whole: "_SplitCounts") -> None:
        self._whole = whole
        self._slices: dict[str, _SplitCounts] = {}

    @classmethod
    def of(
        cls,
        batches: Iterable[pa.RecordBatch],
        schema: schema_pb2.Schema | None = None,
        options: StatisticsOptions | None = None,
        slicers: Sequence[Slicer] = (),
    ) -> "Counts":
        """Count batches whose columns are lists of values.

        Every batch is seen once, its columns on all cores, while the next one is being read.
        Batches may lack columns that others have. Numbers that the schema calls categories are
        counted as the words they stand for. With slicers, each slice is counted besides all.
        """
        options = options or StatisticsOptions()
        counts = cls(_SplitCounts(schema, options, ALL_EXAMPLES if slicers else ""))
        counting: list[Future[None]] = []
        with ThreadPoolExecutor(pa.cpu_count()) as cores:
            for batch in batches:
                _finish(counting)
                counting = [cores.submit(count) for count in counts._whole.of(batch)]
                for key, part in _slice(batch, slicers, options):
                    one = counts._slices.setdefault(key, _SplitCounts(schema, options, key))
                    counting += [cores.submit(count) for count in one.of(part)]
            _finish(counting)
        return counts

    def merge(self, other: "Counts") -> None:
        """Take in what was counted of the next shard, which is of no more use then."""
        self._whole.merge(other._whole)
        for key, more in other._slices.items():
            if key in self._slices:
                self._slices[key].merge(more)
            else:
                self._slices[key] = more

    def describe(self) -> Statistics:
        """The statistics as a message, the dataset of each slice after that of all examples."""
        statistics = Statistics()
        for counts in (self._whole, *self._slices.values()):
            counts.describe(statistics.datasets.add())
        return statistics


def _slice(
    batch: pa.RecordBatch, slicers: Sequence[Slicer], options: StatisticsOptions
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The slices of a batch."""
    if slicers and options.feature_allowlist is not None:  # slices are by what is counted
        allowed = {*options.feature_allowlist, options.weight_feature}
        batch = batch.select([name for name in batch.schema.names if name in allowed])
    for slicer in slicers:
        yield from ((str(key), part) for key, part in slicer(batch))


def _finish(counting: Iterable[Future[None]]) -> None:
    for future in counting:
        future.result()


class _SplitCounts:
    """What is counted of a split: its examples, their weight, and each feature by itself."""

    def __init__(
        self, schema: schema_pb2.Schema | None, options: StatisticsOptions, name: str
    ) -> None:
        self._name = name
        self._options = options
        self._categories = (
            {feature.name for feature in schema.feature if is_category(feature)} if schema else ()
        )
        self._features: dict[str, FeatureCounts] = {}
        self._num_examples = 0
        self._weight = None if options.weight_feature is None else 0.0

    def of(self, batch: pa.RecordBatch) -> Iterator[Callable[[], None]]:
        """What to do with one more batch; features can be counted at the same time."""
        self._num_examples += batch.num_rows
        weights = None
        if self._weight is not None:
            weights = _weights(batch, str(self._options.weight_feature))
            self._weight += float(weights.sum())
        allowed = self._options.feature_allowlist
        columns = [
            (self._feature(name), column)
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
            if allowed is None or name in allowed
        ]
        for feature, column in sorted(columns, key=lambda one: -one[1].nbytes):  # long work first
            yield functools.partial(feature.add, column, weights)

    def merge(self, other: "_SplitCounts") -> None:
        """Take in what was counted of the next shard."""
        self._num_examples += other._num_examples
        if self._weight is not None:
            self._weight += other._weight or 0.0
        for name, feature in other._features.items():
            if name in self._features:
                self._features[name].merge(feature)
            else:
                self._features[name] = feature

    def _feature(self, name: str) -> FeatureCounts:
        if name not in self._features:
            is_category = name in self._categories
            self._features[name] = FeatureCounts(name, self._options, is_category=is_category)
        return self._features[name]

    def describe(self, dataset: statistics_pb2.DatasetFeatureStatistics) -> None:
        """Write the statistics into a message, with the features as the batches had them."""
        dataset.name, dataset.num_examples = self._name, self._num_examples
        if self._weight is not None:
            dataset.weighted_num_examples = self._weight
        for feature in self._features.values():
            dataset.features.append(feature.message(self._num_examples, self._weight))


def is_category(feature: schema_pb2.Feature) -> bool:
    """Whether numbers of a feature are names of something; the rule is TFDV's."""
    if feature.type == schema_pb2.INT:
        domain = feature.WhichOneof("domain_info")
        named = domain in ("bool_domain", "natural_language_domain")
        return named or bool(feature.int_domain.is_categorical)
    return bool(feature.type == schema_pb2.FLOAT and feature.float_domain.is_categorical)


def _weights(batch: pa.RecordBatch, name: str) -> np.ndarray:
    """The one number that each example has in its weight feature."""
    place = batch.schema.get_field_index(name)
    column = batch.column(place) if place >= 0 else pa.nulls(batch.num_rows)
    if not pa.types.is_null(column.type) and not column.null_count:
        values = np.asarray(column.flatten())
        lengths = np.asarray(pc.list_value_length(column))
        if values.dtype.kind in "if" and (lengths == 1).all() and (values >= 0).all():
            return values.astype(np.float64)
    raise BadData(
        f"The weight feature {name!r} has to be one number, zero or more, in every example. "
        "Correct the examples, or leave out weight_feature."
    )


def read_statistics(path: str) -> Statistics:
    """The statistics in a file; of slices, those of all examples."""
    found = read_message(path, Statistics, "statistics")
    whole = [dataset for dataset in found.datasets if dataset.name == ALL_EXAMPLES]
    return Statistics(datasets=whole) if whole else found


write_statistics = write_message
