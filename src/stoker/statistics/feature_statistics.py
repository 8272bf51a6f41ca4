# SPDX-License-Identifier: Apache-2.0
"""One feature of a split, as its batches go by: what is counted of it, and what that says."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tensorflow_metadata.proto.v0 import statistics_pb2

from stoker.errors import BadData
from stoker.statistics.distribution import Distribution, Moments
from stoker.statistics.semantic_domains import SemanticDomains
from stoker.statistics.sketches import DistinctWords, FrequentWords

_FeatureStats = statistics_pb2.FeatureNameStatistics
_NOT_TEXT = "__BYTES_VALUE__"
_TOO_LONG = "__LARGE_BYTES__"
_MAX_LENGTH = 1024
_NUM_WORDS = 1 << 14
"""So many different words are counted exactly; of more, those that are frequent."""
_LONG_BYTES = 64 << 20
"""So much of long words is kept, to be able to name them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsOptions:
    """How much is counted; the names and defaults are those of TFDV's StatsOptions."""

    feature_allowlist: Iterable[str] | None = None
    weight_feature: str | None = None
    num_top_values: int = 20
    num_rank_histogram_buckets: int = 1000
    num_values_histogram_buckets: int = 10
    num_histogram_buckets: int = 10
    num_quantiles_histogram_buckets: int = 10
    frequency_threshold: int = 1
    weighted_frequency_threshold: float = 1.0
    """Words that are less frequent are not named."""
    enable_semantic_domain_stats: bool = False
    """Whether it is told what looks like text, times or pictures."""
    use_sketch_based_topk_uniques: bool = False
    """Whether words that are not text are counted as one, and so are those that are long."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if name.startswith("num_") and (not isinstance(value, int) or value < 1):
                raise ValueError(f"StatisticsOptions.{name} must be at least 1, got {value!r}.")


class FeatureCounts:
    """What is counted of one feature, in constant memory.

    An empty list is present and has no values; a null is missing. Numbers that are categories are
    counted as the words they stand for.
    """

    def __init__(self, name: str, options: StatisticsOptions, *, is_category: bool = False) -> None:
        self.name = name
        self._options = options
        self._is_category = is_category
        self._type: int | None = None
        self._values: _Numbers | _Words | None = None
        self._num_present = 0
        self._num_values = 0
        self._lengths = Distribution()
        self._weight_present = 0.0
        self._weight_values = 0.0
        self._domains = SemanticDomains() if options.enable_semantic_domain_stats else None

    def add(self, column: pa.Array, weights: np.ndarray | None = None) -> None:
        """Take in a column of lists, and the weights of its examples."""
        if pa.types.is_null(column.type):
            return
        counted = self._counter_for(_type_of(column.type.value_type))
        lengths = np.asarray(pc.list_value_length(column).drop_null())
        self._num_present += len(lengths)
        self._num_values += int(lengths.sum())
        self._lengths.add(np.sort(lengths))
        if weights is not None:
            present = weights[np.asarray(column.is_valid())]
            weights = np.repeat(present, lengths)
            self._weight_present += float(present.sum())
            self._weight_values += float(weights.sum())
        values = column.flatten()
        if len(values):
            counted.add(values, weights)
            if self._domains:
                self._domains.add(values)

    def merge(self, other: "FeatureCounts") -> None:
        """Take in what another has counted of the same feature."""
        if other._type is not None and other._values is not None:
            self._counter_for(other._type).merge(other._values)
        self._num_present += other._num_present
        self._num_values += other._num_values
        self._lengths.merge(other._lengths)
        self._weight_present += other._weight_present
        self._weight_values += other._weight_values
        if self._domains and other._domains:
            self._domains.merge(other._domains)

    def _counter_for(self, kind: int) -> "_Numbers | _Words":
        """What counts values of this type, which has to be the one of the batches before."""
        if self._values is None:
            words = kind == _FeatureStats.STRING or self._is_category
            self._type, self._values = kind, _Words(self._options) if words else _Numbers()
        elif kind != self._type:
            raise BadData(
                f"The feature {self.name!r} has values of type {_type_name(self._type)}, and later "
                f"of type {_type_name(kind)}. Write it with one type in all examples."
            )
        return self._values

    def message(
        self, num_examples: int, weight: float | None = None
    ) -> statistics_pb2.FeatureNameStatistics:
        """The statistics of the feature among so many examples, of that weight in all."""
        # There is no "unknown", so TFDV says STRING of what never has a value.
        stats = _FeatureStats(type=_FeatureStats.STRING if self._type is None else self._type)
        stats.path.step.append(self.name)
        numeric = isinstance(self._values, _Numbers)
        kind = stats.num_stats if numeric else stats.string_stats
        if self._num_values and self._values:
            self._values.describe(kind, self._options, weighted=weight is not None)
        self._describe_presence(kind.common_stats, num_examples)
        if weight is not None:
            self._describe_weight(kind.common_stats.weighted_common_stats, weight)
        if self._domains:
            self._domains.describe(stats)
        return stats

    def _describe_presence(
        self, common: statistics_pb2.CommonStatistics, num_examples: int
    ) -> None:
        common.num_non_missing = self._num_present
        common.num_missing = num_examples - self._num_present
        if self._num_present:
            lengths = self._lengths.summary()
            common.min_num_values, common.max_num_values = map(int, lengths.values[[0, -1]])
            common.tot_num_values = self._num_values
            common.avg_num_values = self._num_values / self._num_present
            common.num_values_histogram.CopyFrom(
                lengths.quantiles_histogram(self._options.num_values_histogram_buckets)
            )

    def _describe_weight(
        self, common: statistics_pb2.WeightedCommonStatistics, weight: float
    ) -> None:
        common.num_non_missing = self._weight_present
        common.num_missing = weight - self._weight_present
        common.tot_num_values = self._weight_values
        if self._weight_present:
            common.avg_num_values = self._weight_values / self._weight_present


def _type_of(value_type: pa.DataType) -> int:
    if pa.types.is_integer(value_type):
        return int(_FeatureStats.INT)
    return int(_FeatureStats.FLOAT if pa.types.is_floating(value_type) else _FeatureStats.STRING)


def _type_name(kind: int | None) -> str:
    return str(_FeatureStats.Type.Name(kind))


class _Numbers:
    """The values of a numeric feature."""

    def __init__(self) -> None:
        self._num_nan = 0
        self._num_zeros = 0
        self._plain = Distribution(), Moments()
        self._weighted = Distribution(), Moments()

    def add(self, values: pa.Array, weights: np.ndarray | None) -> None:
        ordered = np.asarray(values)
        if weights is None:
            ordered = np.sort(ordered).astype(np.float64)
        else:
            order = np.argsort(ordered)
            ordered, weights = ordered[order].astype(np.float64), weights[order]
        end = int(np.searchsorted(ordered, np.nan))  # NaN is sorted to the end
        zeros = np.searchsorted(ordered, 0.0, "left"), np.searchsorted(ordered, 0.0, "right")
        self._num_nan += len(ordered) - end
        self._num_zeros += int(zeros[1] - zeros[0])
        _count(self._plain, ordered[:end])
        if weights is not None:
            _count(self._weighted, ordered[:end], weights[:end])

    def merge(self, other: Any) -> None:
        self._num_nan += other._num_nan
        self._num_zeros += other._num_zeros
        for mine, more in ((self._plain, other._plain), (self._weighted, other._weighted)):
            mine[0].merge(more[0])
            mine[1].merge(more[1])

    def describe(
        self, stats: statistics_pb2.NumericStatistics, options: StatisticsOptions, *, weighted: bool
    ) -> None:
        stats.num_zeros = self._num_zeros
        self._describe(stats, self._plain, options)
        if weighted:
            self._describe(stats.weighted_numeric_stats, self._weighted, options)

    def _describe(
        self, stats: Any, counted: tuple[Distribution, Moments], options: StatisticsOptions
    ) -> None:
        summary, moments = counted[0].summary(), counted[1]
        if len(summary.values):
            finite = not np.isinf(summary.values).any()
            # Where one value is infinite, TFDV says so of the mean, and 0 of the deviation.
            stats.mean, stats.std_dev = (moments.mean, moments.std_dev) if finite else (math.nan, 0)
            stats.median = summary.median()
            if isinstance(stats, statistics_pb2.NumericStatistics):
                stats.min, stats.max = summary.values[[0, -1]]
        for histogram in (
            summary.equal_width_histogram(options.num_histogram_buckets),
            summary.quantiles_histogram(options.num_quantiles_histogram_buckets),
        ):
            histogram.num_nan = self._num_nan
            stats.histograms.append(histogram)


def _count(
    counted: tuple[Distribution, Moments], ordered: np.ndarray, weights: np.ndarray | None = None
) -> None:
    distribution, moments = counted
    distribution.add(ordered, weights)
    low = np.searchsorted(ordered, -math.inf, "right")
    high = np.searchsorted(ordered, math.inf, "left")
    moments.add(ordered[low:high], None if weights is None else weights[low:high])


class _Words:
    """The values of a feature of text, bytes or categories."""

    def __init__(self, options: StatisticsOptions) -> None:
        num_words = max(_NUM_WORDS, options.num_top_values, options.num_rank_histogram_buckets)
        self._num_values = 0
        self._num_bytes = 0
        self._num_not_text = 0
        self._different = DistinctWords(_NUM_WORDS)
        self._names = _Names(together=options.use_sketch_based_topk_uniques)
        self._frequent, self._weighted = FrequentWords(num_words), FrequentWords(num_words)

    def add(self, values: pa.Array, weights: np.ndarray | None) -> None:
        if not (pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type)):
            values = values.cast(pa.large_string())
        values = values.cast(pa.large_binary())
        encoded = values.dictionary_encode()
        words, indices = encoded.dictionary, np.asarray(encoded.indices)
        counts = np.bincount(indices)
        lengths = np.asarray(pc.binary_length(words))
        not_text = _not_text(words)
        self._num_values += len(values)
        self._num_bytes += int(counts @ lengths)
        self._num_not_text += int(counts @ not_text)
        self._different.add(words)
        shown = self._names.shorten(words, lengths > _MAX_LENGTH, not_text)
        self._frequent.add(shown, counts)
        if weights is not None:
            self._weighted.add(shown, np.bincount(indices, weights))

    def merge(self, other: Any) -> None:
        self._num_values += other._num_values
        self._num_bytes += other._num_bytes
        self._num_not_text += other._num_not_text
        self._different.merge(other._different)
        self._names.merge(other._names)
        self._frequent.merge(other._frequent)
        self._weighted.merge(other._weighted)

    def describe(
        self, stats: statistics_pb2.StringStatistics, options: StatisticsOptions, *, weighted: bool
    ) -> None:
        stats.unique = self._different.estimate()
        stats.avg_length = self._num_bytes / self._num_values
        stats.invalid_utf8_count = self._num_not_text
        ranked = self._rank(self._frequent, options.frequency_threshold)
        _describe_words(stats, ranked, options)
        if weighted:
            ranked = self._rank(self._weighted, options.weighted_frequency_threshold)
            _describe_words(stats.weighted_string_stats, ranked, options)

    def _rank(self, counted: FrequentWords, least: float) -> list[tuple[str, float]]:
        """The names of words that are frequent enough, and their counts, the greatest first."""
        words, counts = counted.estimate()
        return [
            (self._names.find(word), count)
            for word, count in zip(words, counts.tolist(), strict=True)
            if count and count >= least
        ]


class _Names:
    """What the words of a feature are called: themselves, or a placeholder.

    Words are counted by at most `_MAX_LENGTH` bytes: of a long one, its beginning and a digest.
    With `together`, those that are not text have one name, and those that are long another one.
    """

    def __init__(self, *, together: bool) -> None:
        self._together = together
        self._long: dict[bytes, bytes] = {}
        self._room = _LONG_BYTES

    def shorten(self, words: pa.Array, is_long: np.ndarray, not_text: np.ndarray) -> pa.Array:
        """What words are counted by."""
        if self._together:
            return _replace(_replace(words, is_long, _TOO_LONG), not_text, _NOT_TEXT)
        if not is_long.any():
            return words
        shown = words.to_pylist()
        for place in np.nonzero(is_long)[0]:
            shown[place] = self._keep(shown[place])
        return pa.array(shown, words.type)

    def _keep(self, word: bytes) -> bytes:
        digest = hashlib.blake2b(word, digest_size=32).digest()
        short = word[: _MAX_LENGTH - len(digest)] + digest
        self._note(short, word)
        return short

    def _note(self, short: bytes, word: bytes) -> None:
        if short not in self._long:
            self._room -= len(word)
            self._long[short] = word if self._room >= 0 else _TOO_LONG.encode()

    def merge(self, other: "_Names") -> None:
        """Know what another knows."""
        for short, word in other._long.items():
            self._note(short, word)

    def find(self, counted_by: bytes) -> str:
        """The name of a word."""
        try:
            return self._long.get(counted_by, counted_by).decode()
        except UnicodeDecodeError:
            return _NOT_TEXT


def _not_text(words: pa.Array) -> np.ndarray:
    """Which of these words are not UTF-8."""
    try:
        words.cast(pa.large_string())
    except pa.ArrowInvalid:
        return np.array([not _is_text(word) for word in words.to_pylist()])
    return np.zeros(len(words), bool)


def _is_text(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _replace(words: pa.Array, mask: np.ndarray, by: str) -> pa.Array:
    return pc.if_else(pa.array(mask), by.encode(), words) if mask.any() else words


def _describe_words(
    stats: Any, ranked: list[tuple[str, float]], options: StatisticsOptions
) -> None:
    for label, count in ranked[: options.num_top_values]:
        stats.top_values.add(value=label, frequency=count)
    for rank, (label, count) in enumerate(ranked[: options.num_rank_histogram_buckets]):
        stats.rank_histogram.buckets.add(
            low_rank=rank, high_rank=rank, label=label, sample_count=count
        )
