# SPDX-License-Identifier: Apache-2.0
"""Artifacts of data as HTML: fragments for a notebook, or one page that needs no other file."""

import itertools
from collections.abc import Iterable, Mapping
from html import escape
from typing import TypeAlias

from tensorflow_metadata.proto.v0 import statistics_pb2

from stoker.artifacts import Artifact, ExampleAnomalies, Examples, ExampleStatistics, Schema
from stoker.examples.comparison import equal_width_histogram, words_of
from stoker.examples.statistics import feature_name, read_statistics
from stoker.layout import only_file
from stoker.views.charts import histogram_chart, words_chart
from stoker.views.table import Table
from stoker.views.tables import readable_number, tables_of

__all__ = ["html_page", "html_view", "statistics_view", "table_view"]

Stats: TypeAlias = statistics_pb2.FeatureNameStatistics

_STYLE = """
.stoker { --ink: #1c2430; --soft: #5b6675; --line: #dde2e8; --paper: #ffffff; --card: #f7f8fa;
  --split-0: #2f6fde; --split-1: #e08a1e; --split-2: #2a9d6f; --split-3: #b0489c;
  color: var(--ink); background: var(--paper); font: 14px/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { .stoker { --ink: #e6e9ee; --soft: #9aa5b4; --line: #323a46;
  --paper: #14181e; --card: #1b2129; --split-0: #6ea0ff; --split-1: #f2ab52; --split-2: #57c79a;
  --split-3: #d983c8; } }
.stoker h1 { font-size: 20px; margin: 0 0 2px; }
.stoker h2 { font-size: 15px; margin: 26px 0 8px; }
.stoker .about, .stoker dt, .stoker .kind { color: var(--soft); }
.stoker .about { margin: 0 0 18px; overflow-wrap: anywhere; }
.stoker .scroll { overflow-x: auto; }
.stoker table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.stoker th, .stoker td { padding: 5px 14px 5px 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
.stoker th { color: var(--soft); font-weight: 500; white-space: nowrap; }
.stoker td:first-child { font-weight: 600; white-space: nowrap; }
.stoker .cards { display: grid; gap: 14px;
  grid-template-columns: repeat(auto-fill, minmax(352px, 1fr)); }
.stoker .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 12px 15px; min-width: 0; }
.stoker .card h3 { font-size: 14px; margin: 0 0 8px; overflow-wrap: anywhere; }
.stoker .card .kind { font-weight: 400; font-size: 12px; margin-left: 6px; }
.stoker .card table { font-size: 12px; width: 100%; margin-top: 8px; }
.stoker .card th, .stoker .card td { padding: 2px 8px 2px 0; border: 0; font-weight: 400; }
.stoker .key { display: inline-block; width: 9px; height: 9px; border-radius: 2px;
  margin-right: 5px; }
.stoker svg { display: block; width: 100%; height: auto; }
.stoker svg text { fill: var(--soft); font-size: 11px; }
.stoker svg line { stroke: var(--line); }
.stoker svg rect { fill-opacity: 0.62; }
.stoker .split-0 { fill: var(--split-0); background: var(--split-0); }
.stoker .split-1 { fill: var(--split-1); background: var(--split-1); }
.stoker .split-2 { fill: var(--split-2); background: var(--split-2); }
.stoker .split-3 { fill: var(--split-3); background: var(--split-3); }
"""
_PAGE_STYLE = ":root { color-scheme: light dark; } body { margin: 0; } \
.stoker { min-height: 100vh; box-sizing: border-box; padding: 26px 32px 40px; }"
_NUM_COLOURS = 4
_NUM_EXAMPLES = 8
_WIDTH = 160


def html_view(artifact: Artifact) -> str | None:
    """An artifact of data as a fragment of HTML that brings its style; None for any other kind."""
    match artifact:
        case ExampleStatistics():
            content = statistics_view(
                {
                    split: read_statistics(only_file(artifact.path(split=split)))
                    for split in artifact.splits
                }
            )
        case Examples() | ExampleAnomalies() | Schema():
            content = "".join(map(table_view, tables_of(artifact, _NUM_EXAMPLES, _WIDTH)))
        case _:
            return None
    return f'<style>{_STYLE}</style><div class="stoker">{_heading(artifact)}{content}</div>'


def html_page(artifact: Artifact) -> str | None:
    """The same as a page of its own: no script, and nothing that has to be fetched."""
    view = html_view(artifact)
    if view is None:
        return None
    title = escape(f"{artifact.type_name} {artifact.id or ''}".strip())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_PAGE_STYLE}</style></head><body>{view}</body></html>\n"
    )


def _heading(artifact: Artifact) -> str:
    number = f" {artifact.id}" if artifact.id else ""
    return (
        f'<h1>{escape(artifact.type_name)}{number}</h1><p class="about">{escape(artifact.uri)}</p>'
    )


def table_view(table: Table) -> str:
    """A table, or only its title if it has no rows."""
    title = f"<h2>{escape(table.title)}</h2>" if table.title else ""
    if not table.rows:
        return title
    rows = (map(escape, row) for row in table.rows)
    return f'{title}<div class="scroll">{_table(map(escape, table.columns), rows)}</div>'


def statistics_view(splits: Mapping[str, statistics_pb2.DatasetFeatureStatisticsList]) -> str:
    """A card for each feature, with the splits side by side: numbers first, then words."""
    features: dict[str, dict[str, Stats]] = {}
    for split, statistics in splits.items():
        for stats in itertools.chain.from_iterable(one.features for one in statistics.datasets):
            features.setdefault(feature_name(stats), {})[split] = stats
    colours = {split: f"split-{number % _NUM_COLOURS}" for number, split in enumerate(splits)}
    counts = " &emsp; ".join(
        f'<span class="key {colours[split]}"></span>{escape(split)}: '
        f"{sum(one.num_examples for one in statistics.datasets):,} examples"
        for split, statistics in splits.items()
    )
    numbers = [name for name, by in features.items() if _is_numeric(by)]
    words = [name for name in features if name not in numbers]
    sections = [
        f'<h2>{title}</h2><div class="cards">'
        + "".join(_card(name, features[name], colours) for name in names)
        + "</div>"
        for title, names in (("Numbers", numbers), ("Words and categories", words))
        if names
    ]
    return f"<p>{counts}</p>{''.join(sections)}"


def _is_numeric(by_split: Mapping[str, Stats]) -> bool:
    return any(stats.HasField("num_stats") for stats in by_split.values())


def _card(name: str, by_split: Mapping[str, Stats], colours: Mapping[str, str]) -> str:
    first = next(iter(by_split.values()))
    kind = statistics_pb2.FeatureNameStatistics.Type.Name(first.type)
    if _is_numeric(by_split):
        histograms = {split: equal_width_histogram(stats) for split, stats in by_split.items()}
        chart = histogram_chart(histograms, colours)
        columns = ["", "missing", "zeros", "mean", "std dev", "min", "median", "max"]
        facts = map(_number_facts, by_split.values())
    else:
        shares = {split: _word_shares(stats) for split, stats in by_split.items()}
        chart = words_chart(shares, colours)
        columns = ["", "missing", "different", "average length"]
        facts = map(_word_facts, by_split.values())
    keys = [
        f'<span class="key {colours[split]}" title="{escape(split)}"></span>' for split in by_split
    ]
    rows = ((key, *map(escape, row)) for key, row in zip(keys, facts, strict=True))
    return (
        f'<section class="card"><h3>{escape(name)}<span class="kind">{kind}</span></h3>'
        f"{chart}{_table(columns, rows)}</section>"
    )


def _word_shares(stats: Stats) -> dict[str, float]:
    num_values = stats.string_stats.common_stats.tot_num_values
    return {word: count / num_values for word, count in words_of(stats).items()}


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


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{name}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
