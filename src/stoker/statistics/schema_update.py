# SPDX-License-Identifier: Apache-2.0
"""A schema that is changed where data is not as it says: each broken expectation has its change.

The changes are TFDV's. A feature that is gone, or has another type, is deprecated; limits are
widened to what was seen; a domain that cannot hold the values goes.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.statistics.data_schema import MAX_DOMAIN_SIZE, infer_schema
from stoker.statistics.drift import words_of
from stoker.statistics.expectations import (
    common_of,
    find_broken_expectations,
    is_in_use,
    numbers_of,
)
from stoker.statistics.messages import (
    Statistics,
    Stats,
    count_examples,
    count_presence,
    features_of,
)

_Change: TypeAlias = Callable[[schema_pb2.Feature, Any, schema_pb2.Schema], None]


def update_schema(
    schema: schema_pb2.Schema, statistics: Statistics, *, max_domain_size: int = MAX_DOMAIN_SIZE
) -> schema_pb2.Schema:
    """A copy of a schema that these statistics do not break; new features come last."""
    updated = schema_pb2.Schema()
    updated.CopyFrom(schema)
    if not count_examples(statistics):
        return updated
    features = dict(features_of(statistics))
    for feature in updated.feature:
        stats = features.pop(feature.name, None)
        if is_in_use(feature):
            for finding in list(find_broken_expectations(stats, feature, updated)):
                _CHANGES[finding.kind](feature, stats, updated)
    inferred = infer_schema(statistics, infer_feature_shape=False, max_domain_size=max_domain_size)
    for feature in inferred.feature:
        if feature.name in features:
            _add_feature(updated, feature, inferred)
    return updated


def _add_feature(
    schema: schema_pb2.Schema, feature: schema_pb2.Feature, inferred: schema_pb2.Schema
) -> None:
    """Add a feature with its domain, under a name that the schema does not have yet."""
    added = schema.feature.add()
    added.CopyFrom(feature)
    for domain in inferred.string_domain:
        if feature.domain and domain.name == feature.domain:
            taken = {one.name for one in schema.string_domain}
            number = 2
            while added.domain in taken:
                added.domain = f"{domain.name}{number}"
                number += 1
            schema.string_domain.add(name=added.domain, value=domain.value)


def _deprecate(feature: schema_pb2.Feature, _: Stats | None, __: schema_pb2.Schema) -> None:
    feature.lifecycle_stage = schema_pb2.DEPRECATED


def _drop(field: str) -> _Change:
    def drop(feature: schema_pb2.Feature, _: Stats, __: schema_pb2.Schema) -> None:
        feature.ClearField(field)

    return drop


def _drop_domain(feature: schema_pb2.Feature, _: Stats, __: schema_pb2.Schema) -> None:
    feature.ClearField(feature.WhichOneof("domain_info"))


def _lower_count(feature: schema_pb2.Feature, stats: Stats, _: schema_pb2.Schema) -> None:
    feature.presence.min_count = int(count_presence(common_of(stats))[0])


def _lower_fraction(feature: schema_pb2.Feature, stats: Stats, _: schema_pb2.Schema) -> None:
    num_present, num_missing = count_presence(common_of(stats))
    feature.presence.min_fraction = num_present / (num_present + num_missing)


def _lower_num_values(feature: schema_pb2.Feature, stats: Stats, _: schema_pb2.Schema) -> None:
    least = common_of(stats).min_num_values
    if least:
        feature.value_count.min = least
    else:
        feature.value_count.ClearField("min")


def _raise_num_values(feature: schema_pb2.Feature, stats: Stats, _: schema_pb2.Schema) -> None:
    feature.value_count.max = common_of(stats).max_num_values


def _flatten(feature: schema_pb2.Feature, stats: Stats, _: schema_pb2.Schema) -> None:
    common = common_of(stats)
    feature.value_count.min, feature.value_count.max = common.min_num_values, common.max_num_values


def _add_words(feature: schema_pb2.Feature, stats: Stats, schema: schema_pb2.Schema) -> None:
    domain = feature.string_domain
    if feature.WhichOneof("domain_info") == "domain":
        (domain,) = (one for one in schema.string_domain if one.name == feature.domain)
    domain.value.extend(sorted(words_of(stats).keys() - {*domain.value}, key=str.encode))


def _widen(side: str, choose: Callable[[list[float]], float]) -> _Change:
    def widen(feature: schema_pb2.Feature, stats: Stats, _: schema_pb2.Schema) -> None:
        domain = getattr(feature, feature.WhichOneof("domain_info"))
        limit = choose(numbers_of(stats))
        is_float = isinstance(domain, schema_pb2.FloatDomain)
        setattr(domain, side, limit if is_float else int(limit))

    return widen


def _allow(field: str) -> _Change:
    def allow(feature: schema_pb2.Feature, _: Stats, __: schema_pb2.Schema) -> None:
        setattr(feature.float_domain, field, False)

    return allow


def _make_interval(feature: schema_pb2.Feature, stats: Stats, _: schema_pb2.Schema) -> None:
    numbers = numbers_of(stats)
    if feature.type == schema_pb2.FLOAT:
        feature.float_domain.min, feature.float_domain.max = min(numbers), max(numbers)
    else:
        feature.int_domain.min, feature.int_domain.max = int(min(numbers)), int(max(numbers))


def _widen_unique(feature: schema_pb2.Feature, stats: Stats, _: schema_pb2.Schema) -> None:
    wanted, num_unique = feature.unique_constraints, stats.string_stats.unique
    wanted.min, wanted.max = min(wanted.min, num_unique), max(wanted.max, num_unique)


_CHANGES: dict[str, _Change] = {
    "SCHEMA_MISSING_COLUMN": _deprecate,
    "FEATURE_TYPE_NOT_PRESENT": _deprecate,
    "FEATURE_MISSING_TYPE": _deprecate,
    "UNEXPECTED_DATA_TYPE": _deprecate,
    "FEATURE_TYPE_LOW_NUMBER_PRESENT": _lower_count,
    "FEATURE_TYPE_LOW_FRACTION_PRESENT": _lower_fraction,
    "FEATURE_TYPE_LOW_NUMBER_VALUES": _lower_num_values,
    "FEATURE_TYPE_HIGH_NUMBER_VALUES": _raise_num_values,
    "VALUE_NESTEDNESS_MISMATCH": _flatten,
    "INVALID_FEATURE_SHAPE": _drop("shape"),
    "DOMAIN_INVALID_FOR_TYPE": _drop_domain,
    "INVALID_DOMAIN_SPECIFICATION": _drop_domain,
    "ENUM_TYPE_INVALID_UTF8": _drop_domain,
    "ENUM_TYPE_UNEXPECTED_STRING_VALUES": _add_words,
    "INT_TYPE_NOT_INT_STRING": _drop_domain,
    "FLOAT_TYPE_STRING_NOT_FLOAT": _drop_domain,
    "INT_TYPE_SMALL_INT": _widen("min", min),
    "INT_TYPE_BIG_INT": _widen("max", max),
    "FLOAT_TYPE_SMALL_FLOAT": _widen("min", min),
    "FLOAT_TYPE_BIG_FLOAT": _widen("max", max),
    "FLOAT_TYPE_HAS_NAN": _allow("disallow_nan"),
    "FLOAT_TYPE_HAS_INF": _allow("disallow_inf"),
    "BOOL_TYPE_SMALL_INT": _make_interval,
    "BOOL_TYPE_BIG_INT": _make_interval,
    "BOOL_TYPE_UNEXPECTED_FLOAT": _make_interval,
    "BOOL_TYPE_UNEXPECTED_STRING": _drop_domain,
    "FEATURE_TYPE_NO_UNIQUE": _drop("unique_constraints"),
    "FEATURE_TYPE_LOW_UNIQUE": _widen_unique,
    "FEATURE_TYPE_HIGH_UNIQUE": _widen_unique,
}
"""What becomes of a feature that breaks an expectation, by the kind of the finding."""
