# SPDX-License-Identifier: Apache-2.0
"""Schemas as TFDV's functions infer, update and edit them."""

from collections.abc import Callable, Iterable
from typing import Any

from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from stoker.stand_ins.tfdv.feature_path import FeaturePath
from stoker.stand_ins.tfdv.files import check_message
from stoker.stand_ins.tfdv.slices import choose_all_examples
from stoker.statistics import data_schema, schema_update
from stoker.statistics.compute import is_category
from stoker.statistics.messages import Statistics

Path = str | FeaturePath
Transformation = Callable[
    [schema_pb2.Schema, statistics_pb2.DatasetFeatureStatistics], schema_pb2.Schema
]

_DOMAINS = {
    schema_pb2.IntDomain: "int_domain",
    schema_pb2.FloatDomain: "float_domain",
    schema_pb2.StringDomain: "string_domain",
    schema_pb2.BoolDomain: "bool_domain",
    schema_pb2.StructDomain: "struct_domain",
    schema_pb2.NaturalLanguageDomain: "natural_language_domain",
    schema_pb2.ImageDomain: "image_domain",
    schema_pb2.MIDDomain: "mid_domain",
    schema_pb2.URLDomain: "url_domain",
    schema_pb2.TimeDomain: "time_domain",
    schema_pb2.TimeOfDayDomain: "time_of_day_domain",
}


def infer_schema(
    statistics: Statistics,
    infer_feature_shape: bool = True,
    max_string_domain_size: int = 100,
    schema_transformations: Iterable[Transformation] | None = None,
) -> schema_pb2.Schema:
    """The schema that these statistics suggest.

    Args:
        statistics: Of one data set, or of slices and all examples; then those of all are meant.
        infer_feature_shape: Whether a feature with as many values in every example has a shape.
        max_string_domain_size: A feature with at most so many different words has a domain.
        schema_transformations: Functions of the schema and the statistics that return a schema.
    """
    chosen = choose_all_examples(statistics)
    schema = data_schema.infer_schema(
        chosen, infer_feature_shape, max_domain_size=max_string_domain_size
    )
    for transform in schema_transformations or ():
        schema = transform(schema, statistics.datasets[0])
    return schema


def update_schema(
    schema: schema_pb2.Schema,
    statistics: Statistics,
    infer_feature_shape: bool | None = True,  # noqa: ARG001 - has no meaning in TFDV either
    max_string_domain_size: int | None = 100,
) -> schema_pb2.Schema:
    """A copy of the schema, changed where the statistics are not as it says."""
    check_message(schema, schema_pb2.Schema)
    return schema_update.update_schema(
        schema, choose_all_examples(statistics), max_domain_size=max_string_domain_size or 100
    )


def get_feature(schema: schema_pb2.Schema, feature_path: Path) -> schema_pb2.Feature:
    """The feature of a schema, to read or to change."""
    check_message(schema, schema_pb2.Schema)
    *structs, name = [feature_path] if isinstance(feature_path, str) else feature_path.steps()
    container: Any = schema
    for step in structs:
        container = _find_feature(container, step, feature_path).struct_domain
    return _find_feature(container, name, feature_path)


def _find_feature(container: Any, name: str, path: Path) -> schema_pb2.Feature:
    found = look_up_feature(name, container.feature)
    if found is None:
        known = ", ".join(feature.name for feature in container.feature)
        raise ValueError(f"The schema has no feature {str(path)!r}; it has {known or 'none'}.")
    return found


def look_up_feature(
    feature_name: str, container: Iterable[schema_pb2.Feature]
) -> schema_pb2.Feature | None:
    """The feature of this name, or None."""
    return next((feature for feature in container if feature.name == feature_name), None)


def get_domain(schema: schema_pb2.Schema, feature_path: Path) -> Any:
    """The domain of a feature, to read or to change; a shared one if the schema names one."""
    feature = get_feature(schema, feature_path)
    kind = feature.WhichOneof("domain_info")
    if kind is None:
        raise ValueError(
            f"The feature {str(feature_path)!r} has no domain. Give it one: tfdv.set_domain(…)."
        )
    if kind != "domain":
        return getattr(feature, kind)
    for domain in schema.string_domain:
        if domain.name == feature.domain:
            return domain
    raise ValueError(f"The schema has no string_domain {feature.domain!r}. Add it to the schema.")


def set_domain(schema: schema_pb2.Schema, feature_path: Path, domain: Any) -> None:
    """Give a feature a domain: a message, or the name of one of the schema's string domains."""
    feature = get_feature(schema, feature_path)
    if isinstance(domain, str):
        if domain not in {one.name for one in schema.string_domain}:
            raise ValueError(
                f"The schema has no string_domain {domain!r}. Add it to the schema first."
            )
        feature.domain = domain
        return
    for kind, field in _DOMAINS.items():
        if isinstance(domain, kind):
            getattr(feature, field).CopyFrom(domain)
            return
    raise TypeError(f"A domain is a message or a name, got a {type(domain).__name__}.")


def is_categorical_feature(feature: schema_pb2.Feature) -> bool:
    """Whether the values of a feature are names of something."""
    if feature.type == schema_pb2.BYTES:
        return True
    return is_category(feature)


def get_categorical_features(schema: schema_pb2.Schema) -> set[FeaturePath]:
    """The features whose values are names of something."""
    return {path for path, one in get_all_leaf_features(schema) if is_categorical_feature(one)}


def get_categorical_numeric_features(schema: schema_pb2.Schema) -> list[FeaturePath]:
    """The features whose numbers are names of something, as older editions of TFDV list them."""
    return list(get_categorical_numeric_feature_types(schema))


def get_categorical_numeric_feature_types(schema: schema_pb2.Schema) -> dict[FeaturePath, int]:
    """The features whose numbers are names of something, with their types."""
    return {path: one.type for path, one in get_all_leaf_features(schema) if is_category(one)}


def get_bytes_features(schema: schema_pb2.Schema) -> list[FeaturePath]:
    """The features whose values are not read: images."""
    return [path for path, one in get_all_leaf_features(schema) if one.HasField("image_domain")]


def get_multivalent_features(schema: schema_pb2.Schema) -> set[FeaturePath]:
    """The features that the schema does not hold to one value."""
    return {
        path
        for path, one in get_all_leaf_features(schema)
        if [dim.size for dim in one.shape.dim] != [1] and one.value_count.max != 1
    }


def get_all_leaf_features(
    schema: schema_pb2.Schema,
) -> list[tuple[FeaturePath, schema_pb2.Feature]]:
    """Every feature that is not a struct, with its path."""
    found: list[tuple[FeaturePath, schema_pb2.Feature]] = []

    def collect(container: Any, parent: FeaturePath) -> None:
        for feature in container.feature:
            path = parent.child(feature.name)
            if feature.type == schema_pb2.STRUCT:
                collect(feature.struct_domain, path)
            else:
                found.append((path, feature))

    collect(schema, FeaturePath([]))
    return found


def generate_dummy_schema_with_paths(paths: Iterable[FeaturePath]) -> schema_pb2.Schema:
    """A schema that has these paths, and says nothing of them."""
    schema = schema_pb2.Schema()
    for path in paths:
        container: Any = schema
        *structs, name = path.steps()
        for step in structs:
            found = look_up_feature(step, container.feature)
            container = (found or container.feature.add(name=step)).struct_domain
        container.feature.add(name=name)
    return schema
