# SPDX-License-Identifier: Apache-2.0
"""The schema of examples: inferred from statistics by TFX's rules, read and written as text."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.errors import BadData
from stoker.statistics.expectations import FEATURE_TYPES, is_integer
from stoker.statistics.messages import (
    DOMAIN_INFO,
    Statistics,
    Stats,
    count_examples,
    feature_name,
    features_of,
)

SCHEMA_FILE = "schema.pbtxt"

MAX_DOMAIN_SIZE = 100
"""A feature with more different words has no domain."""
_TRUE = {"TRUE", "true", "SET", "set", "1", ""}
_FALSE = {"FALSE", "false", "CLEAR", "clear", "0"}


def infer_schema(
    statistics: Statistics,
    infer_feature_shape: bool = True,
    *,
    max_domain_size: int = MAX_DOMAIN_SIZE,
) -> schema_pb2.Schema:
    """What holds for all examples that were counted: types, presence, shapes and small domains.

    Several datasets, such as the splits of one input, are taken together.
    """
    if not statistics.datasets:
        raise ValueError(
            "These statistics have no dataset to infer a schema from: `datasets` is empty. Compute "
            "them of some examples."
        )
    schema = schema_pb2.Schema()
    for name, seen in _collect_seen(statistics).items():
        feature = schema.feature.add(name=name, type=FEATURE_TYPES[seen.type])
        _add_presence(feature, seen)
        _add_valency(feature, seen, infer_feature_shape)
        _add_domain(schema, feature, seen, max_domain_size)
    return schema


@dataclass(slots=True, kw_only=True)
class _SeenFeature:
    """What the examples of all datasets show of one feature."""

    type: int
    num_present: int = 0
    num_values: set[int] = field(default_factory=set)
    """The smallest and the largest number of values in an example."""
    numbers: set[float] = field(default_factory=set)
    """The smallest and the largest value."""
    words: set[str] = field(default_factory=set)
    all_words: bool = True
    num_examples: int = 0
    semantic_domain: str = ""
    """What the values look like, as the text of a field of a Feature."""

    @property
    def always(self) -> bool:
        return self.num_present == self.num_examples

    def add(self, stats: Stats) -> None:
        """Take in the statistics of one more dataset."""
        kind = getattr(stats, stats.WhichOneof("stats"))
        common = kind.common_stats
        if not common.num_non_missing:
            return
        if self.num_present and stats.type != self.type:
            raise BadData(
                f"The feature {feature_name(stats)!r} has two types in these statistics. "
                "Leave out a split with exclude_splits, or import a schema written by hand."
            )
        self.type = stats.type
        self.num_present += common.num_non_missing
        self.num_values |= {common.min_num_values, common.max_num_values}
        for custom in stats.custom_stats:
            if custom.name == DOMAIN_INFO:
                self.semantic_domain = custom.str
        if stats.HasField("num_stats"):
            self.numbers |= {kind.min, kind.max}
        elif stats.HasField("string_stats"):
            words = [bucket.label for bucket in kind.rank_histogram.buckets]
            self.words |= set(words)
            self.all_words &= kind.unique == len(words) and not kind.invalid_utf8_count


def _collect_seen(statistics: Statistics) -> dict[str, _SeenFeature]:
    num_examples = count_examples(statistics)
    seen: dict[str, _SeenFeature] = {}
    for name, stats in features_of(statistics):
        one = seen.setdefault(name, _SeenFeature(type=stats.type, num_examples=num_examples))
        one.add(stats)
    return seen


def _add_presence(feature: schema_pb2.Feature, seen: _SeenFeature) -> None:
    feature.presence.min_count = min(1, seen.num_present)
    if seen.num_present and seen.always:
        feature.presence.min_fraction = 1.0


def _add_valency(feature: schema_pb2.Feature, seen: _SeenFeature, infer_shape: bool) -> None:
    """A fixed shape where every example has the same number of values, else a value count."""
    if not seen.num_present or min(seen.num_values) == 0:
        return
    if len(seen.num_values) > 1:
        feature.value_count.min = 1
    elif infer_shape and seen.always:
        feature.shape.dim.add(size=min(seen.num_values))
    else:
        feature.value_count.min = feature.value_count.max = min(seen.num_values)


def _add_domain(
    schema: schema_pb2.Schema,
    feature: schema_pb2.Feature,
    seen: _SeenFeature,
    max_domain_size: int,
) -> None:
    if seen.semantic_domain:
        text_format.Merge(seen.semantic_domain, feature)
        return
    true, false = seen.words & _TRUE, seen.words & _FALSE
    if seen.type == Stats.INT:
        if seen.numbers and min(seen.numbers) >= 0 and max(seen.numbers) == 1:
            feature.bool_domain.SetInParent()
    elif seen.type != Stats.STRING or not seen.words:
        return
    elif all(map(is_integer, seen.words)) and seen.words - _TRUE - _FALSE:
        feature.int_domain.SetInParent()
    elif not seen.all_words:
        return
    elif seen.words == true | false and len(true) <= 1 and len(false) <= 1:
        feature.bool_domain.CopyFrom(
            schema_pb2.BoolDomain(
                true_value=next(iter(true), None), false_value=next(iter(false), None)
            )
        )
    elif len(seen.words) <= max_domain_size:
        feature.domain = feature.name
        schema.string_domain.add(name=feature.name, value=sorted(seen.words, key=str.encode))


def read_schema(path: str) -> schema_pb2.Schema:
    """The schema in a text file; what does not parse is named by its file and line."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise BadData(f"{path} is not a schema: it is a folder, a pipe or a device. Name its file.")
    try:
        text = Path(path).read_text(encoding="utf-8")
        return text_format.Parse(text, schema_pb2.Schema())
    except text_format.ParseError as error:
        raise BadData(
            f"{path}, line {error.GetLine()}: this is not a schema: {error}. Correct the line."
        ) from error
    except RecursionError as error:
        raise BadData(
            f"{path} is not a schema: its parts are nested too deep. Name another."
        ) from error
    except UnicodeDecodeError as error:
        raise BadData(
            f"{path} is not a schema: it is not UTF-8 text ({error}). Save it as such."
        ) from error


def write_schema(schema: schema_pb2.Schema, path: str) -> None:
    """Write the schema as text."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text_format.MessageToString(schema, as_utf8=True), encoding="utf-8")
