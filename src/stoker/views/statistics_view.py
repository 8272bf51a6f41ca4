# SPDX-License-Identifier: Apache-2.0
"""Statistics as HTML: a card for each feature, with its chart and the splits side by side."""

from collections.abc import Mapping

from stoker.artifacts import ExampleStatistics
from stoker.statistics.drift import equal_width_histogram, words_of
from stoker.statistics.messages import Statistics, Stats, count_examples, features_of
from stoker.views.charts import histogram_chart, words_chart
from stoker.views.data_tables import describe_absence, read_split_statistics
from stoker.views.markup import assign_colours, card, cards, key, legend
from stoker.views.table import Table, shorten

_TOP_WIDTH = 16


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
    kind = _describe_kind(next(iter(by_split.values())))
    if _is_numeric(by_split):
        histograms = {
            split: equal_width_histogram(stats, weighted=False) for split, stats in by_split.items()
        }
        chart = histogram_chart(histograms, colours)
        columns = ["", "missing", "empty", "zeros", "mean", "std dev", "min", "median", "max"]
        facts = [_number_facts(stats) for stats in by_split.values()]
        if any(histogram.num_nan for histogram in histograms.values()):
            columns.append("NaN")
            nans = [f"{histogram.num_nan:,.0f}" for histogram in histograms.values()]
            facts = [(*row, nan) for row, nan in zip(facts, nans, strict=True)]
    else:
        shares = {split: _word_shares(stats) for split, stats in by_split.items()}
        chart = words_chart(shares, colours)
        columns = ["", "missing", "empty", "different", "most frequent", "average length"]
        facts = [_word_facts(stats) for stats in by_split.values()]
    rows = [(key(split, colours), *row) for split, row in zip(by_split, facts, strict=True)]
    return card(name, kind, chart, Table(columns=columns, rows=rows))


def _word_shares(stats: Stats) -> dict[str, float]:
    num_values = stats.string_stats.common_stats.tot_num_values
    return {word: count / num_values for word, count in words_of(stats, weighted=False).items()}


def _number_facts(stats: Stats) -> tuple[str, ...]:
    numbers = stats.num_stats
    num_values = numbers.common_stats.tot_num_values
    if not num_values:
        return *describe_absence(numbers.common_stats), *[""] * 6
    zeros = f"{numbers.num_zeros / num_values:.1%}"
    found = (numbers.mean, numbers.std_dev, numbers.min, numbers.median, numbers.max)
    return *describe_absence(numbers.common_stats), zeros, *map(_shorten_number, found)


def _shorten_number(number: float) -> str:
    """A number in a card, where there is little room."""
    text = f"{number:.4g}" if 1 <= abs(number) < 1e4 else f"{number:.3g}"
    return text.replace("e+", "e").replace("e0", "e").replace("e-0", "e-")


def _word_facts(stats: Stats) -> tuple[str, ...]:
    words = stats.string_stats
    top = "".join(shorten(one.value, _TOP_WIDTH) for one in words.top_values[:1])
    length = f"{words.avg_length:.3g} bytes"
    return *describe_absence(words.common_stats), f"{words.unique:,}", top, length


def _describe_kind(stats: Stats) -> str:
    """The type of a feature, and how many values it has where that is not one."""
    common = getattr(stats, stats.WhichOneof("stats")).common_stats
    low, high = common.min_num_values, common.max_num_values
    kind = str(Stats.Type.Name(stats.type))
    if not common.num_non_missing or low == high == 1:
        return kind
    return f"{kind}, {low if low == high else f'{low} to {high}'} values each"
