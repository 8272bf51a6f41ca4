# SPDX-License-Identifier: Apache-2.0
"""What a schema says of one feature, held against its statistics, rule by rule."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from stoker.statistics.drift import words_of
from stoker.statistics.messages import Stats, count_presence

FEATURE_TYPES = {
    Stats.INT: schema_pb2.INT,
    Stats.FLOAT: schema_pb2.FLOAT,
    Stats.STRING: schema_pb2.BYTES,
    Stats.BYTES: schema_pb2.BYTES,
    Stats.STRUCT: schema_pb2.STRUCT,
}
"""The types of a schema by those of statistics."""
_NOT_IN_USE = {
    schema_pb2.PLANNED,
    schema_pb2.ALPHA,
    schema_pb2.DEPRECATED,
    schema_pb2.DEBUG_ONLY,
    schema_pb2.DISABLED,
}
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)
_NUM_WORDS = 10


class Anomaly(NamedTuple):
    """One thing that is not as it should be; `kind` is a name of AnomalyInfo.Type."""

    kind: str
    short: str
    description: str


def find_broken_expectations(
    stats: Stats | None, feature: schema_pb2.Feature, schema: schema_pb2.Schema
) -> Iterator[Anomaly]:
    """What is wrong with a feature that the schema has; None if the statistics do not have it."""
    required = feature.presence.min_count > 0 or feature.presence.min_fraction > 0
    if stats is None:
        if required:
            yield Anomaly("SCHEMA_MISSING_COLUMN", "Column dropped", "No example has this feature.")
        return
    common = common_of(stats)
    if not common.num_non_missing:
        if required:
            missing = f"All {common.num_missing} examples lack this feature."
            yield Anomaly("FEATURE_TYPE_NOT_PRESENT", "Column dropped", missing)
        return
    yield from _check_presence(common, feature.presence)
    yield from _check_valency(common, feature)
    yield from _check_type(stats, feature)
    if feature.type == FEATURE_TYPES.get(stats.type):
        yield from _check_domain(stats, feature, schema)
    if feature.HasField("unique_constraints"):
        yield from _check_unique(stats, feature.unique_constraints)


def is_integer(word: str) -> bool:
    """Whether a word is the text of an int64."""
    return bool(_INTEGER.fullmatch(word)) and -(2**63) <= int(word) < 2**63


def is_in_use(feature: schema_pb2.Feature) -> bool:
    """Whether a feature of a schema is expected, and not planned, deprecated or disabled."""
    named = feature.name and not feature.deprecated
    return bool(named) and feature.lifecycle_stage not in _NOT_IN_USE


def common_of(stats: Stats) -> statistics_pb2.CommonStatistics:
    """What statistics of every type have."""
    return getattr(stats, stats.WhichOneof("stats")).common_stats


def _check_presence(
    common: statistics_pb2.CommonStatistics, presence: schema_pb2.FeaturePresence
) -> Iterator[Anomaly]:
    num_present, num_missing = count_presence(common)
    num_examples = num_present + num_missing
    has = f"{num_present:g} of {num_examples:g} examples have this feature"
    if num_present < presence.min_count:
        yield Anomaly(
            "FEATURE_TYPE_LOW_NUMBER_PRESENT",
            "Column dropped",
            f"{has}; there should be at least {presence.min_count}.",
        )
    if num_present < presence.min_fraction * num_examples:
        wanted = "all" if presence.min_fraction == 1 else f"{presence.min_fraction:.4g} of them"
        yield Anomaly(
            "FEATURE_TYPE_LOW_FRACTION_PRESENT", "Column dropped", f"{has}; {wanted} should."
        )


def _check_valency(
    common: statistics_pb2.CommonStatistics, feature: schema_pb2.Feature
) -> Iterator[Anomaly]:
    low, high = common.min_num_values, common.max_num_values
    has = f"Examples have {low if low == high else f'{low} to {high}'} values"
    counts = [feature.value_count] if feature.HasField("value_count") else []
    counts += feature.value_counts.value_count
    if len(counts) > 1:
        yield Anomaly(
            "VALUE_NESTEDNESS_MISMATCH",
            "Mismatched value nest level",
            f"The schema has value counts for {len(counts)} levels of nesting, the data one level.",
        )
        return
    for count in counts:
        if count.HasField("min") and low < count.min:
            wanted = f"{has}; there should be at least {count.min}."
            yield Anomaly("FEATURE_TYPE_LOW_NUMBER_VALUES", "Missing values", wanted)
        if count.HasField("max") and high > count.max:
            wanted = f"{has}; there should be at most {count.max}."
            yield Anomaly("FEATURE_TYPE_HIGH_NUMBER_VALUES", "Superfluous values", wanted)
    if feature.HasField("shape"):
        size = math.prod(dim.size for dim in feature.shape.dim)
        if common.num_missing or not low == high == size:
            lack = f", and {common.num_missing} lack the feature" if common.num_missing else ""
            yield Anomaly(
                "INVALID_FEATURE_SHAPE",
                "Feature shape dropped",
                f"{has}{lack}; its shape says {size} in every example.",
            )


def _check_type(stats: Stats, feature: schema_pb2.Feature) -> Iterator[Anomaly]:
    name = schema_pb2.FeatureType.Name(feature.type)
    if feature.type == schema_pb2.TYPE_UNKNOWN:
        yield Anomaly(
            "FEATURE_MISSING_TYPE",
            "Unspecified type",
            f"The schema does not say its type; the data is {Stats.Type.Name(stats.type)}.",
        )
    elif feature.type != FEATURE_TYPES.get(stats.type):
        yield Anomaly(
            "UNEXPECTED_DATA_TYPE",
            "Unexpected data type",
            f"The data is {Stats.Type.Name(stats.type)}; the schema says {name}.",
        )


def _check_domain(
    stats: Stats, feature: schema_pb2.Feature, schema: schema_pb2.Schema
) -> Iterator[Anomaly]:
    kind = feature.WhichOneof("domain_info")
    if kind not in _DOMAINS:
        return
    types, check = _DOMAINS[kind]
    if feature.type not in types:
        yield Anomaly(
            "DOMAIN_INVALID_FOR_TYPE",
            "The domain does not match the type",
            f"A feature of type {schema_pb2.FeatureType.Name(feature.type)} cannot have a domain "
            f"of the kind {kind}.",
        )
        return
    named = {domain.name: domain for domain in schema.string_domain}
    if kind == "domain" and feature.domain not in named:
        missing = f"The schema has no string_domain {feature.domain!r}."
        yield Anomaly("INVALID_DOMAIN_SPECIFICATION", "Missing domain", missing)
        return
    domain = named[feature.domain] if kind == "domain" else getattr(feature, kind)
    yield from check(stats, feature, domain)


def _check_string_domain(
    stats: Stats, feature: schema_pb2.Feature, domain: schema_pb2.StringDomain
) -> Iterator[Anomaly]:
    if stats.string_stats.invalid_utf8_count:
        yield Anomaly(
            "ENUM_TYPE_INVALID_UTF8",
            "Invalid UTF8 strings",
            f"{stats.string_stats.invalid_utf8_count} values are not UTF-8 text.",
        )
        return
    words = words_of(stats)
    known = set(domain.value)
    unexpected = {word: count for word, count in words.items() if word not in known}
    num_values, num_unexpected = sum(words.values()), sum(unexpected.values())
    if num_unexpected > num_values * (1 - feature.distribution_constraints.min_domain_mass):
        yield Anomaly(
            "ENUM_TYPE_UNEXPECTED_STRING_VALUES",
            "Unexpected string values",
            f"{num_unexpected:.0f} of {num_values:.0f} values are not in the domain: "
            f"{_list_words(unexpected)}.",
        )


def _check_number_domain(
    stats: Stats, _: schema_pb2.Feature, domain: schema_pb2.IntDomain | schema_pb2.FloatDomain
) -> Iterator[Anomaly]:
    words = words_of(stats)
    is_float = isinstance(domain, schema_pb2.FloatDomain)
    if strange := _list_others(words, _is_float if is_float else is_integer):
        kind = "FLOAT_TYPE_STRING_NOT_FLOAT" if is_float else "INT_TYPE_NOT_INT_STRING"
        not_text = f"not the text of {'numbers' if is_float else 'integers'}"
        yield Anomaly(kind, "Invalid values", f"Some values are {not_text}: {strange}.")
        return
    numbers = numbers_of(stats)
    if is_float:
        num_nan = max((histogram.num_nan for histogram in stats.num_stats.histograms), default=0)
        if domain.disallow_nan and num_nan:
            yield Anomaly("FLOAT_TYPE_HAS_NAN", "Invalid values", f"{num_nan:.0f} values are NaN.")
        if domain.disallow_inf and any(map(math.isinf, numbers)):
            yield Anomaly("FLOAT_TYPE_HAS_INF", "Invalid values", "Some values are infinite.")
    yield from check_interval(numbers, domain)


def _check_bool_domain(
    stats: Stats, feature: schema_pb2.Feature, domain: schema_pb2.BoolDomain
) -> Iterator[Anomaly]:
    words = words_of(stats)
    if feature.type == schema_pb2.BYTES:
        known = {domain.true_value, domain.false_value} - {""}
        if strange := _list_others(words, known.__contains__):
            neither = f"Some values are neither of {sorted(known)}: {strange}."
            yield Anomaly("BOOL_TYPE_UNEXPECTED_STRING", "Non-boolean values", neither)
        return
    is_float = feature.type == schema_pb2.FLOAT
    for number in numbers_of(stats):
        if number not in (0, 1):
            size = "BIG_INT" if number > 1 else "SMALL_INT"
            yield Anomaly(
                f"BOOL_TYPE_{'UNEXPECTED_FLOAT' if is_float else size}",
                "Non-boolean values",
                f"Some values are neither 0 nor 1, such as {number:g}.",
            )
            return


def _check_nothing(*_: Any) -> Iterator[Anomaly]:
    """Of what such domains mean, statistics say nothing."""
    yield from ()


_Check: TypeAlias = Callable[[Stats, schema_pb2.Feature, Any], Iterator[Anomaly]]
_DOMAINS: dict[str, tuple[set[int], _Check]] = {
    "domain": ({schema_pb2.BYTES}, _check_string_domain),
    "string_domain": ({schema_pb2.BYTES}, _check_string_domain),
    "int_domain": ({schema_pb2.INT, schema_pb2.BYTES}, _check_number_domain),
    "float_domain": ({schema_pb2.FLOAT, schema_pb2.BYTES}, _check_number_domain),
    "bool_domain": ({schema_pb2.INT, schema_pb2.FLOAT, schema_pb2.BYTES}, _check_bool_domain),
    "url_domain": ({schema_pb2.BYTES}, _check_nothing),
    "mid_domain": ({schema_pb2.BYTES}, _check_nothing),
    "image_domain": ({schema_pb2.BYTES}, _check_nothing),
}


def numbers_of(stats: Stats) -> list[float]:
    """The least and the greatest number, or all that are known by their text; none of NaN."""
    if stats.HasField("string_stats"):
        return [float(word) for word in words_of(stats)]
    numbers = stats.num_stats
    has_some = any(histogram.buckets for histogram in numbers.histograms)
    return [numbers.min, numbers.max] if has_some else []


def check_interval(
    numbers: list[float], domain: schema_pb2.IntDomain | schema_pb2.FloatDomain
) -> Iterator[Anomaly]:
    """What is wrong with the least and the greatest of a feature's values, if it has any."""
    kind = "FLOAT" if isinstance(domain, schema_pb2.FloatDomain) else "INT"
    if not numbers:
        return
    least, greatest = min(numbers), max(numbers)
    if domain.HasField("min") and least < domain.min:
        too_small = f"The least value is {least:g}; it should be at least {domain.min:g}."
        yield Anomaly(f"{kind}_TYPE_SMALL_{kind}", "Out-of-range values", too_small)
    if domain.HasField("max") and greatest > domain.max:
        too_big = f"The greatest value is {greatest:g}; it should be at most {domain.max:g}."
        yield Anomaly(f"{kind}_TYPE_BIG_{kind}", "Out-of-range values", too_big)


def _check_unique(stats: Stats, wanted: schema_pb2.UniqueConstraints) -> Iterator[Anomaly]:
    if not stats.HasField("string_stats"):
        not_counted = "Different values are counted of text and categories only."
        yield Anomaly("FEATURE_TYPE_NO_UNIQUE", "No unique values", not_counted)
        return
    num_unique = stats.string_stats.unique
    has = f"There are {num_unique} different values; there should be"
    if num_unique < wanted.min:
        few = f"{has} at least {wanted.min}."
        yield Anomaly("FEATURE_TYPE_LOW_UNIQUE", "Low number of unique values", few)
    if num_unique > wanted.max:
        many = f"{has} at most {wanted.max}."
        yield Anomaly("FEATURE_TYPE_HIGH_UNIQUE", "High number of unique values", many)


def _is_float(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _list_others(words: dict[str, float], is_known: Callable[[str], bool]) -> str:
    """The words that are not known; empty if all are."""
    return _list_words({word: count for word, count in words.items() if not is_known(word)})


def _list_words(words: dict[str, float]) -> str:
    """The first few words, each with how often it occurs."""
    first = ", ".join(f"{word!r} ({count:.0f})" for word, count in [*words.items()][:_NUM_WORDS])
    return f"{first} and {len(words) - _NUM_WORDS} more" if len(words) > _NUM_WORDS else first
