# SPDX-License-Identifier: Apache-2.0
"""Statistics as HTML: a card for each feature, with its chart and the splits side by side."""

from collections.abc import Mapping

from tensorflow_metadata.proto.v0 import statistics_pb2

from stoker.artifacts import ExampleStatistics
from stoker.statistics.drift import equal_width_histogram, words_of
from stoker.statistics.messages import Statistics, Stats, count_examples, features_of
from stoker.views.charts import histogram_chart, words_chart
from stoker.views.data_tables import read_split_statistics
from stoker.views.markup import assign_colours, card, cards, key, legend
from stoker.views.table import Table, readable_number


def statistics_view(artifact: ExampleStatistics) -> str:
    """The splits of an artifact over each other."""
    return compare_statistics(read_split_statistics(artifact))


def compare_statistics(splits: Mapping[str, Statistics]) -> str:
    """A card for each feature, with the data sets over each other: numbers first, then words."""
    features: dict[str, dict[str, Stats]] = {}
    for split, statistics in splits.items():
        for name, stats in features_of(statistics):
            features.setdefault(name, {})[split] = stats
    colours = assign_colours(splits)
    counts = {
        split: f"{split}: {count_examples(statistics):,} examples"
        for split, statistics in splits.items()
    }
    numbers = [name for name, by in features.items() if _is_numeric(by)]
    words = [name for name in features if name not in numbers]
    sections = [
        cards((_card(name, features[name], colours) for name in names), title)
        for title, names in (("Numbers", numbers), ("Words and categories", words))
        if names
    ]
    return legend(counts, colours) + "".join(sections)


def _is_numeric(by_split: Mapping[str, Stats]) -> bool:
    return any(stats.HasField("num_stats") for stats in by_split.values())


def _card(name: str, by_split: Mapping[str, Stats], colours: Mapping[str, str]) -> str:
    first = next(iter(by_split.values()))
    kind = Stats.Type.Name(first.type)
    if _is_numeric(by_split):
        histograms = {
            split: equal_width_histogram(stats, weighted=False) for split, stats in by_split.items()
        }
        chart = histogram_chart(histograms, colours)
        columns = ["", "missing", "zeros", "mean", "std dev", "min", "median", "max"]
        facts = map(_number_facts, by_split.values())
    else:
        shares = {split: _word_shares(stats) for split, stats in by_split.items()}
        chart = words_chart(shares, colours)
        columns = ["", "missing", "different", "average length"]
        facts = map(_word_facts, by_split.values())
    rows = [(key(split, colours), *row) for split, row in zip(by_split, facts, strict=True)]
    return card(name, kind, chart, Table(columns=columns, rows=rows))


def _word_shares(stats: Stats) -> dict[str, float]:
    num_values = stats.string_stats.common_stats.tot_num_values
    return {word: count / num_values for word, count in words_of(stats, weighted=False).items()}


def _number_facts(stats: Stats) -> tuple[str, ...]:
    numbers = stats.num_stats
    num_values = numbers.common_stats.tot_num_values
    zeros = f"{numbers.num_zeros / num_values:.1%}" if num_values else ""
    found = (numbers.mean, numbers.std_dev, numbers.min, numbers.median, numbers.max)
    return _missing(numbers.common_stats), zeros, *map(readable_number, found)


def _word_facts(stats: Stats) -> tuple[str, ...]:
    words = stats.string_stats
    return _missing(words.common_stats), f"{words.unique:,}", f"{words.avg_length:.3g} bytes"


def _missing(common: statistics_pb2.CommonStatistics) -> str:
    return f"{common.num_missing / (common.num_missing + common.num_non_missing or 1):.1%}"
