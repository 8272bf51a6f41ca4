# SPDX-License-Identifier: Apache-2.0
"""A few rows of what is in an artifact, for those who want to look before they read code."""

import itertools
import json
import os
from typing import Any

from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from stoker.artifacts import Artifact, Examples, ExampleStatistics, Model, Schema, ValueArtifact
from stoker.cli.printing import Table
from stoker.examples.files import matching_files
from stoker.examples.schema import read_schema
from stoker.examples.tfrecord import read_records
from stoker.layout import only_file
from stoker.proto.example_pb2 import Example, Feature

__all__ = ["preview"]

_NUM_EXAMPLES = 3
_NUM_VALUES = 5
_WIDTH = 40


def preview(artifact: Artifact) -> list[Table]:
    """What is in an artifact, as tables; none for what is not there, or has no readable form."""
    if not os.path.exists(artifact.uri):
        return []
    match artifact:
        case Examples():
            return [_examples(artifact, split) for split in artifact.splits]
        case ExampleStatistics():
            return [_statistics(artifact, split) for split in artifact.splits]
        case Schema():
            return [_schema(read_schema(only_file(artifact.uri)))]
        case Model() if signatures := artifact.custom_properties.get("signatures"):
            return [_signatures(signatures)]
        case ValueArtifact():
            return [Table(columns=("value",), rows=[(_short(str(artifact.value)),)])]
    return []


def _examples(examples: Examples, split: str) -> Table:
    files = matching_files(os.path.join(examples.path(split=split), "*"))
    records = itertools.chain.from_iterable(map(read_records, files))
    shown = [
        Example.FromString(record).features.feature
        for record in itertools.islice(records, _NUM_EXAMPLES)
    ]
    names = sorted(set().union(*shown))
    return Table(
        title=f"{split}: the first {len(shown)} examples",
        columns=("feature", *(str(number) for number in range(1, len(shown) + 1))),
        rows=[(name, *(_feature(one.get(name)) for one in shown)) for name in names],
    )


def _feature(feature: Feature | None) -> str:
    kind = feature.WhichOneof("kind") if feature else None
    if not kind:
        return ""
    values = list(getattr(feature, kind).value)
    more = ", …" if len(values) > _NUM_VALUES else ""
    return _short(", ".join(map(_value, values[:_NUM_VALUES])) + more)


def _value(value: bytes | float | int) -> str:
    if not isinstance(value, bytes):
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"<{len(value)} bytes>"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def _schema(schema: schema_pb2.Schema) -> Table:
    domains = {domain.name: list(domain.value) for domain in schema.string_domain}
    return Table(
        columns=("feature", "type", "presence", "values", "domain"),
        rows=[
            (
                feature.name,
                schema_pb2.FeatureType.Name(feature.type),
                "required" if feature.presence.min_fraction == 1 else "optional",
                _valency(feature),
                _short(", ".join(domains.get(feature.domain, []))),
            )
            for feature in schema.feature
        ],
    )


def _valency(feature: schema_pb2.Feature) -> str:
    if feature.HasField("shape"):
        return "shape " + (" x ".join(str(dim.size) for dim in feature.shape.dim) or "()")
    if feature.HasField("value_count"):
        low, high = feature.value_count.min, feature.value_count.max
        return str(low) if low == high else f"{low} to {high or 'many'}"
    return "any"


def _statistics(statistics: ExampleStatistics, split: str) -> Table:
    found = statistics_pb2.DatasetFeatureStatisticsList()
    with open(only_file(statistics.path(split=split)), "rb") as file:
        found.ParseFromString(file.read())
    rows = [row for dataset in found.datasets for row in map(_feature_statistics, dataset.features)]
    num_examples = sum(dataset.num_examples for dataset in found.datasets)
    return Table(
        title=f"{split}: {num_examples} examples",
        columns=("feature", "type", "missing", "values"),
        rows=rows,
    )


def _feature_statistics(
    stats: statistics_pb2.FeatureNameStatistics,
) -> tuple[str, str, str, str]:
    name = ".".join(stats.path.step) or stats.name
    kind = stats.WhichOneof("stats")
    common = getattr(stats, kind).common_stats
    type_name = statistics_pb2.FeatureNameStatistics.Type.Name(stats.type)
    if kind == "num_stats":
        numbers = stats.num_stats
        values = f"{numbers.min:.6g} to {numbers.max:.6g}, mean {numbers.mean:.6g}"
    elif kind == "string_stats":
        top = ", ".join(one.value for one in stats.string_stats.top_values[:3])
        values = f"{stats.string_stats.unique} different: {top}"
    else:
        values = ""
    return name, type_name, str(common.num_missing), _short(values)


def _signatures(recorded: Any) -> Table:
    signatures = json.loads(recorded) if isinstance(recorded, str) else recorded
    return Table(
        title="signatures",
        columns=("signature", "takes", "gives"),
        rows=[
            (name, *(_tensors(signature, key) for key in ("inputs", "outputs")))
            for name, signature in signatures.items()
        ],
    )


def _tensors(signature: dict[str, Any], key: str) -> str:
    return ", ".join(_tensor(name, spec) for name, spec in (signature.get(key) or {}).items())


def _tensor(name: str, spec: Any) -> str:
    if not isinstance(spec, dict):
        return f"{name}: {spec}"
    return f"{name}: {spec.get('dtype', '')} {spec.get('shape', '')}".rstrip()
