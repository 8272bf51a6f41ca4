# SPDX-License-Identifier: Apache-2.0
"""What examples look like before and after a Transform: their schemas, statistics, anomalies."""

import dataclasses
import enum
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2, statistics_pb2

from stoker.artifacts import Artifact
from stoker.components.transform.job import Job
from stoker.components.transform.records import read_sample
from stoker.examples.schema import write_schema
from stoker.examples.statistics import (
    STATISTICS_FILE,
    StatisticsOptions,
    compute_statistics,
    write_statistics,
)

__all__ = ["StatsType", "find_anomalies", "updated_options", "write_all_statistics"]

SCHEMA_FILE = "Schema.pbtxt"
ANOMALIES_FILE = "SchemaDiff.pb"
MAX_ROWS = 100_000

_Info = anomalies_pb2.AnomalyInfo


class StatsType(enum.Enum):
    """Which statistics a user's `stats_options_updater_fn` is asked about."""

    UNKNOWN = 0
    PRE_TRANSFORM = 1
    POST_TRANSFORM = 2


def write_all_statistics(job: Job, output_dict: Mapping[str, Sequence[Artifact]]) -> None:
    """Write what is wanted of statistics: of the analyzed examples, and of all transformed ones."""
    if not output_dict.get("pre_transform_stats"):
        return
    from tensorflow_transform import TFTransformOutput

    from stoker.components.transform.engine import transformed

    folders = {key: artifacts[0].uri for key, artifacts in output_dict.items() if artifacts}
    before = read_sample([source.folder for source in job.analyzed], job.schema, MAX_ROWS)
    _write(job, StatsType.PRE_TRANSFORM, job.schema, before, folders)
    every_folder = [folder for many in job.transformed.values() for folder in many]
    raw = read_sample(every_folder, job.schema, MAX_ROWS)
    after = list(transformed(job.transform_graph_dir, raw, schema=job.schema))
    schema = TFTransformOutput(job.transform_graph_dir).transformed_metadata.schema
    statistics = _write(job, StatsType.POST_TRANSFORM, schema, after, folders)
    Path(folders["post_transform_anomalies"], ANOMALIES_FILE).write_bytes(
        find_anomalies(statistics, schema).SerializeToString(deterministic=True)
    )


def _write(
    job: Job,
    kind: StatsType,
    schema: schema_pb2.Schema,
    batches: list[pa.RecordBatch],
    folders: Mapping[str, str],
) -> statistics_pb2.DatasetFeatureStatisticsList:
    table = pa.Table.from_batches(batches) if batches else pa.table({})
    options = updated_options(job.stats_options_updater_fn, kind, schema)
    statistics = compute_statistics(table, schema, options)
    when = kind.name.lower()
    write_statistics(statistics, os.path.join(folders[f"{when}_stats"], STATISTICS_FILE))
    write_schema(schema, os.path.join(folders[f"{when}_schema"], SCHEMA_FILE))
    return statistics


def updated_options(updater: Any, kind: StatsType, schema: schema_pb2.Schema) -> StatisticsOptions:
    """The options that a user's `stats_options_updater_fn(stats_type, stats_options)` makes."""
    if updater is None:
        return StatisticsOptions()
    known = dataclasses.asdict(StatisticsOptions())
    changed = vars(updater(kind, SimpleNamespace(**known, schema=schema)))
    if unknown := sorted(changed.keys() - known.keys() - {"schema"}):
        raise ValueError(
            f"stats_options_updater_fn sets {unknown[0]!r}, which Stoker's statistics do not "
            f"have; they have {', '.join(known)}."
        )
    return StatisticsOptions(**{name: changed[name] for name in known})


def find_anomalies(
    statistics: statistics_pb2.DatasetFeatureStatisticsList, schema: schema_pb2.Schema
) -> anomalies_pb2.Anomalies:
    """Where transformed examples are not what the schema of the graph says that they are."""
    features = {
        feature.path.step[0]: feature
        for dataset in statistics.datasets
        for feature in dataset.features
    }
    anomalies = anomalies_pb2.Anomalies(baseline=schema)
    for expected in schema.feature:
        for reason in _reasons(expected, features.get(expected.name)):
            info = anomalies.anomaly_info[expected.name]
            info.path.step[:] = [expected.name]
            info.severity = _Info.ERROR
            info.short_description = reason.short_description
            info.description = reason.description
            info.reason.append(reason)
    return anomalies


def _reasons(
    expected: schema_pb2.Feature, found: statistics_pb2.FeatureNameStatistics | None
) -> Iterator[Any]:
    if found is None:
        yield _Info.Reason(
            type=_Info.SCHEMA_MISSING_COLUMN,
            short_description="Column dropped",
            description="No example has this feature.",
        )
        return
    numbers, domain = found.num_stats, expected.int_domain
    if expected.HasField("int_domain") and numbers.common_stats.tot_num_values:
        if domain.HasField("max") and numbers.max > domain.max:
            yield _out_of_domain(_Info.INT_TYPE_BIG_INT, f"{numbers.max:.0f} > {domain.max}")
        if domain.HasField("min") and numbers.min < domain.min:
            yield _out_of_domain(_Info.INT_TYPE_SMALL_INT, f"{numbers.min:.0f} < {domain.min}")
    if any(histogram.num_nan for histogram in numbers.histograms):
        yield _Info.Reason(
            type=_Info.FLOAT_TYPE_HAS_NAN,
            short_description="NaN values",
            description="Some values are not numbers.",
        )


def _out_of_domain(kind: Any, what: str) -> Any:
    return _Info.Reason(
        type=kind,
        short_description="Out-of-range values",
        description=f"A value is outside the domain of the feature: {what}.",
    )
