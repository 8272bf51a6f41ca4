# SPDX-License-Identifier: Apache-2.0
"""Examples, statistics, schemas and anomalies as tables of text, one per split."""

import itertools
import math
from dataclasses import dataclass

from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from stoker.any_python.layout import only_file
from stoker.artifacts import ExampleAnomalies, Examples, ExampleStatistics, Schema
from stoker.data.input_files import matching_files
from stoker.data.tfrecord import read_records
from stoker.dsl.proto.example_pb2 import Example, Feature
from stoker.statistics.anomalies import describe_anomalies, read_anomalies
from stoker.statistics.compute import read_statistics
from stoker.statistics.data_schema import read_schema
from stoker.statistics.drift import equal_width_histogram
from stoker.statistics.messages import (
    Statistics,
    Stats,
    count_empty,
    count_examples,
    features_of,
)
from stoker.views.table import CELL_WIDTH, Table, readable_number, shorten

_NUM_VALUES = 5
_NUM_WORDS = 3
_FACTS = ("mean", "std dev", "zeros", "range", "values")
"""What the statistics table says of a feature that has values."""
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """How much of an artifact is shown: little in a terminal, more on a page."""

    num_examples: int = 3
    width: int = CELL_WIDTH
    """How many characters of a long text."""


def examples_tables(examples: Examples, detail: Detail) -> list[Table]:
    """The first examples of each split: a row for each feature, a column for each example."""
    return [_examples_table(examples, split, detail) for split in examples.splits]


def statistics_tables(artifact: ExampleStatistics, _: Detail) -> list[Table]:
    """For each split, a row for each feature with its histogram or its most frequent words."""
    return [_statistics_table(*pair) for pair in read_split_statistics(artifact).items()]


def anomalies_tables(artifact: ExampleAnomalies, _: Detail) -> list[Table]:
    """For each split, a row for each thing that is not as the schema says."""
    return [_anomalies_table(*pair) for pair in _split_folders(artifact).items()]


def schema_tables(artifact: Schema, detail: Detail) -> list[Table]:
    """A row for each feature of a schema."""
    schema = read_schema(only_file(artifact.uri))
    rows = [
        (
            feature.name,
            schema_pb2.FeatureType.Name(feature.type),
            _presence(feature),
            _valency(feature),
            shorten(_domain(feature, schema), detail.width),
        )
        for feature in schema.feature
    ]
    return [Table(columns=("feature", "type", "presence", "values", "domain"), rows=rows)]


def read_split_statistics(artifact: ExampleStatistics) -> dict[str, Statistics]:
    """The statistics of each split."""
    folders = _split_folders(artifact)
    return {split: read_statistics(only_file(folder)) for split, folder in folders.items()}


def _split_folders(artifact: ExampleStatistics | ExampleAnomalies) -> dict[str, str]:
    """Where each split is; those that Transform makes have one file, about all examples."""
    return {split: artifact.path(split=split) for split in artifact.splits} or {"all": artifact.uri}


def _examples_table(examples: Examples, split: str, detail: Detail) -> Table:
    files = matching_files(examples.path(split=split))
    records = itertools.chain.from_iterable(map(read_records, files))
    first = [
        Example.FromString(record).features.feature
        for record in itertools.islice(records, detail.num_examples)
    ]
    names = sorted(set().union(*first))
    return Table(
        title=f"{split}: the first {len(first)} examples",
        columns=("feature", *(str(number) for number in range(1, len(first) + 1))),
        rows=[
            (name, *(_feature(example.get(name), detail.width) for example in first))
            for name in names
        ],
    )


def _feature(feature: Feature | None, width: int) -> str:
    kind = feature.WhichOneof("kind") if feature else None
    if not kind:
        return ""
    values = list(getattr(feature, kind).value)
    more = ", …" if len(values) > _NUM_VALUES else ""
    return shorten(", ".join(map(_value, values[:_NUM_VALUES])) + more, width)


def _value(value: bytes | float | int) -> str:
    if not isinstance(value, bytes):
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"<{len(value)} bytes>"


def _presence(feature: schema_pb2.Feature) -> str:
    least = feature.presence.min_fraction
    if least == 1:
        has_values = feature.HasField("shape") or feature.value_count.min
        return "required" if has_values else "may be empty"  # as an empty cell of a CSV file
    return f"at least {least:.4g}" if least else "optional"


def _valency(feature: schema_pb2.Feature) -> str:
    if feature.HasField("shape"):
        return "shape " + (" x ".join(str(dim.size) for dim in feature.shape.dim) or "()")
    if feature.HasField("value_count"):
        low, high = feature.value_count.min, feature.value_count.max
        return str(low) if low == high else f"{low} to {high or 'many'}"
    return "any"


def _domain(feature: schema_pb2.Feature, schema: schema_pb2.Schema) -> str:
    kind = feature.WhichOneof("domain_info")
    named = {domain.name: domain for domain in schema.string_domain}
    match kind:
        case "domain":
            return ", ".join(named[feature.domain].value) if feature.domain in named else ""
        case "string_domain":
            return ", ".join(feature.string_domain.value)
        case "bool_domain":
            words = (feature.bool_domain.false_value, feature.bool_domain.true_value)
            return "boolean" + (f": {', '.join(filter(None, words))}" if any(words) else "")
        case "int_domain" | "float_domain":
            return _interval(getattr(feature, kind))
    return str(kind or "").removesuffix("_domain").replace("_", " ")


def _interval(domain: schema_pb2.IntDomain | schema_pb2.FloatDomain) -> str:
    limits = [
        f"{word} {getattr(domain, side):g}"
        for side, word in (("min", "from"), ("max", "to"))
        if domain.HasField(side)
    ]
    return " ".join(limits) or "numbers"


def _statistics_table(split: str, statistics: Statistics) -> Table:
    return Table(
        title=f"{split}: {count_examples(statistics)} examples",
        columns=("feature", "type", "missing", "empty", *_FACTS),
        rows=[_statistics_row(*pair) for pair in features_of(statistics)],
    )


def _statistics_row(name: str, stats: Stats) -> tuple[str, ...]:
    kind = stats.WhichOneof("stats")
    common = getattr(stats, kind).common_stats
    begin = name, Stats.Type.Name(stats.type), *describe_absence(common)
    if not common.tot_num_values:
        return *begin, *[""] * len(_FACTS)
    if kind == "num_stats":
        numbers = stats.num_stats
        moments = readable_number(numbers.mean), readable_number(numbers.std_dev)
        zeros = f"{numbers.num_zeros / common.tot_num_values:.1%}"
        limits = f"{readable_number(numbers.min)} to {readable_number(numbers.max)}"
        return *begin, *moments, zeros, limits, _bars(stats)
    words = ", ".join(top.value for top in stats.string_stats.top_values[:_NUM_WORDS])
    return *begin, "", "", "", f"{stats.string_stats.unique} different", shorten(words)


def describe_absence(common: statistics_pb2.CommonStatistics) -> tuple[str, str]:
    """The share of examples that lack a feature, and of those that have it without a value."""
    num_examples = common.num_missing + common.num_non_missing or 1
    num_empty, is_exact = count_empty(common)
    shares = [
        f"{count / num_examples:.1%}" if count else "0" for count in (common.num_missing, num_empty)
    ]
    return shares[0], shares[1] if is_exact else f"up to {shares[1]}"


def _bars(stats: Stats) -> str:
    """The equal-width histogram, a character for each bucket."""
    counts = [
        bucket.sample_count for bucket in equal_width_histogram(stats, weighted=False).buckets
    ]
    most = max(counts, default=0)
    return "".join(
        _BARS[max(math.ceil(count / most * len(_BARS)) - 1, 0)] if count else " "
        for count in counts
    )


def _anomalies_table(split: str, folder: str) -> Table:
    rows = describe_anomalies(read_anomalies(only_file(folder)))
    counts = {0: "no anomalies", 1: "1 anomaly"}
    return Table(
        title=f"{split}: {counts.get(len(rows), f'{len(rows)} anomalies')}",
        columns=("feature", "anomaly", "description"),
        rows=rows,
    )
