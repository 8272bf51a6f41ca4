# SPDX-License-Identifier: Apache-2.0
"""What examples look like before and after a Transform: their schemas, statistics, anomalies."""

import enum
import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2

from stoker.stand_ins.tfdv.generate import count
from stoker.stand_ins.tfdv.stats_options import StatsOptions
from stoker.statistics.anomalies import ANOMALIES_FILE, add_findings, write_anomalies
from stoker.statistics.compute import STATISTICS_FILE, write_statistics
from stoker.statistics.data_schema import SCHEMA_FILE, write_schema
from stoker.statistics.expectations import Anomaly, check_interval
from stoker.transform.example_batches import keep_spread, read_sample
from stoker.transform.job import TransformJob

MAX_ROWS = 100_000
_MAX_BYTES = 1 << 30
"""What transformed examples may take: images do not fit by the hundred thousand."""


class StatsType(enum.Enum):
    """Which statistics a user's `stats_options_updater_fn` is asked about."""

    UNKNOWN = 0
    PRE_TRANSFORM = 1
    POST_TRANSFORM = 2


def write_all_statistics(job: TransformJob) -> None:
    """Write what is wanted of statistics: of the analyzed examples, and of all transformed ones."""
    if not job.statistics_dirs:
        return
    from tensorflow_transform import TFTransformOutput

    from stoker.transform.apply import apply_graph

    before = read_sample([source.folder for source in job.analyzed], job.schema, MAX_ROWS)
    _write(job, StatsType.PRE_TRANSFORM, job.schema, before)
    every_folder = [folder for many in job.transformed.values() for folder in many]
    raw = read_sample(every_folder, job.schema, MAX_ROWS)
    transformed = apply_graph(job.transform_graph_dir, raw, schema=job.schema)
    after = keep_spread(transformed, lambda batch: batch.nbytes, _MAX_BYTES)
    schema = TFTransformOutput(job.transform_graph_dir).transformed_metadata.schema
    _write(job, StatsType.POST_TRANSFORM, schema, after)
    table = pa.Table.from_batches(after) if after else pa.table({})
    anomalies_dir = job.statistics_dirs["post_transform_anomalies"]
    write_anomalies(find_anomalies(table, schema), os.path.join(anomalies_dir, ANOMALIES_FILE))


def _write(
    job: TransformJob, kind: StatsType, schema: schema_pb2.Schema, batches: list[pa.RecordBatch]
) -> None:
    options = update_options(job.stats_options_updater_fn, kind, schema)
    statistics = count(batches, options)
    when, folders = kind.name.lower(), job.statistics_dirs
    write_statistics(statistics, os.path.join(folders[f"{when}_stats"], STATISTICS_FILE))
    write_schema(schema, os.path.join(folders[f"{when}_schema"], SCHEMA_FILE))


def update_options(updater: Any, kind: StatsType, schema: schema_pb2.Schema) -> StatsOptions:
    """The options that a user's `stats_options_updater_fn(stats_type, stats_options)` makes."""
    options = StatsOptions(schema=schema)
    return StatsOptions.of(updater(kind, options)) if updater else options


def find_anomalies(table: pa.Table, schema: schema_pb2.Schema) -> anomalies_pb2.Anomalies:
    """Where transformed examples are not what the schema of the graph says that they are."""
    anomalies = anomalies_pb2.Anomalies(baseline=schema)
    for feature in schema.feature if table.num_rows else ():
        add_findings(anomalies, feature.name, [*_check_feature(feature, table)])
    return anomalies


def _check_feature(feature: schema_pb2.Feature, table: pa.Table) -> Iterator[Anomaly]:
    if feature.name not in table.column_names:
        yield Anomaly("SCHEMA_MISSING_COLUMN", "Column dropped", "No example has this feature.")
        return
    values = pc.list_flatten(table.column(feature.name))
    if pa.types.is_floating(values.type):
        if pc.any(pc.is_nan(values)).as_py():
            yield Anomaly("FLOAT_TYPE_HAS_NAN", "NaN values", "Some values are not numbers.")
    elif pa.types.is_integer(values.type) and feature.HasField("int_domain") and len(values):
        yield from check_interval([*pc.min_max(values).as_py().values()], feature.int_domain)
