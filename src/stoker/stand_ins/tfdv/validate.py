# SPDX-License-Identifier: Apache-2.0
"""Statistics held against a schema, and against those of other data: TFDV's `validate_…`."""

from typing import Any

from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2

from stoker.errors import MissingPart
from stoker.stand_ins.tfdv.files import check_message
from stoker.stand_ins.tfdv.slices import choose_all_examples
from stoker.statistics.anomalies import find_anomalies
from stoker.statistics.messages import Statistics


def validate_statistics(
    statistics: Statistics,
    schema: schema_pb2.Schema,
    environment: str | None = None,
    previous_statistics: Statistics | None = None,
    serving_statistics: Statistics | None = None,
    custom_validation_config: Any = None,
) -> anomalies_pb2.Anomalies:
    """What in these statistics is not as the schema says.

    Args:
        statistics: Of one data set, or of slices and all examples; then those of all are meant.
        schema: What the data should be like.
        environment: One of the schema's default environments, such as "SERVING".
        previous_statistics: Of earlier data, for the schema's drift comparators.
        serving_statistics: Of what a model is asked when it serves, for the skew comparators.
        custom_validation_config: TFDV's validations in SQL, which are refused here.
    """
    return validate_statistics_internal(
        statistics,
        schema,
        environment,
        previous_span_statistics=previous_statistics,
        serving_statistics=serving_statistics,
        custom_validation_config=custom_validation_config,
    )


def validate_statistics_internal(
    statistics: Statistics,
    schema: schema_pb2.Schema,
    environment: str | None = None,
    previous_span_statistics: Statistics | None = None,
    serving_statistics: Statistics | None = None,
    previous_version_statistics: Statistics | None = None,
    validation_options: Any = None,
    enable_diff_regions: bool = False,
    custom_validation_config: Any = None,
) -> anomalies_pb2.Anomalies:
    """`validate_statistics`, also with an earlier version of the data, whose size is compared."""
    if custom_validation_config is not None or validation_options is not None:
        raise MissingPart(
            "Stoker has no custom_validation_config (SQL) and no validation_options. Check the "
            "statistics in Python, or put the expectation into the schema.",
            name="custom_validation_config",
        )
    if enable_diff_regions:
        raise MissingPart(
            "Stoker does not make diff_regions: leave out enable_diff_regions.",
            name="enable_diff_regions",
        )
    check_message(schema, schema_pb2.Schema)
    return find_anomalies(
        choose_all_examples(statistics),
        schema,
        environment=environment,
        previous=_choose(previous_span_statistics),
        serving=_choose(serving_statistics),
        previous_version=_choose(previous_version_statistics),
    )


def validate_corresponding_slices(
    statistics: Statistics,
    schema: schema_pb2.Schema,
    environment: str | None = None,
    previous_statistics: Statistics | None = None,
    serving_statistics: Statistics | None = None,
) -> anomalies_pb2.Anomalies:
    """Each slice held against the schema, and against the same slice of the other statistics.

    What is found of a slice's feature is called `slice(key)::feature`.
    """
    check_message(schema, schema_pb2.Schema)
    given = [one for one in (statistics, previous_statistics, serving_statistics) if one]
    keys = dict.fromkeys(dataset.name for one in given for dataset in one.datasets)
    replicated = schema_pb2.Schema(
        string_domain=schema.string_domain, default_environment=schema.default_environment
    )
    for key in keys:
        for feature in schema.feature:
            replicated.feature.add().CopyFrom(feature)
            replicated.feature[-1].name = _name_in_slice(key, feature.name)
    return validate_statistics(
        _flatten(statistics),
        replicated,
        environment,
        previous_statistics and _flatten(previous_statistics),
        serving_statistics and _flatten(serving_statistics),
    )


def _flatten(statistics: Statistics) -> Statistics:
    """The features of all slices in one data set, which has the size of all examples."""
    (whole,) = choose_all_examples(statistics).datasets
    flat = Statistics()
    dataset = flat.datasets.add(num_examples=whole.num_examples)
    for one in statistics.datasets:
        for feature in one.features:
            dataset.features.add().CopyFrom(feature)
            dataset.features[-1].path.step[0] = _name_in_slice(one.name, feature.path.step[0])
    return flat


def _name_in_slice(key: str, name: str) -> str:
    return f"slice({key})::{name}"


def _choose(statistics: Statistics | None) -> Statistics | None:
    return None if statistics is None else choose_all_examples(statistics)
