# SPDX-License-Identifier: Apache-2.0
"""Examples held against a schema one by one: TFDV's `validate_examples_…`."""

import copy
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2

from stoker.data.csv import CsvDialect
from stoker.data.input_files import bring_files
from stoker.stand_ins.beam_options import say_where_it_runs
from stoker.stand_ins.tfdv.files import read_output_path, write_stats_tfrecord
from stoker.stand_ins.tfdv.generate import count, count_csv, count_in_memory, read_examples
from stoker.stand_ins.tfdv.stats_options import SliceFunction, StatsOptions
from stoker.stand_ins.tfdv.validate import validate_statistics
from stoker.statistics.messages import Statistics

if TYPE_CHECKING:
    import pandas as pd

_OF_ALL = tuple(
    getattr(anomalies_pb2.AnomalyInfo, name)
    for name in (
        *("FEATURE_TYPE_LOW_FRACTION_PRESENT", "FEATURE_TYPE_LOW_NUMBER_PRESENT"),
        *("FEATURE_TYPE_NOT_PRESENT", "SCHEMA_TRAINING_SERVING_SKEW", "NO_DATA_IN_SPAN"),
        *("COMPARATOR_CONTROL_DATA_MISSING", "COMPARATOR_TREATMENT_DATA_MISSING"),
        *("COMPARATOR_L_INFTY_HIGH", "COMPARATOR_JENSEN_SHANNON_DIVERGENCE_HIGH"),
        *("COMPARATOR_LOW_NUM_EXAMPLES", "COMPARATOR_HIGH_NUM_EXAMPLES"),
        *("DATASET_LOW_NUM_EXAMPLES", "DATASET_HIGH_NUM_EXAMPLES"),
    )
)
"""What can be said of many examples only, and not of one."""


def validate_instance(
    instance: pa.RecordBatch, options: StatsOptions, environment: str | None = None
) -> anomalies_pb2.Anomalies:
    """What in a batch of examples is not as the schema says, apart from what is of all data."""
    if not isinstance(options, StatsOptions) or options.schema is None:
        raise ValueError("validate_instance needs StatsOptions with a schema.")
    counted = count_in_memory(instance, options)
    found = validate_statistics(counted, options.schema, environment)
    remove_anomaly_types(found, frozenset(_OF_ALL))
    return found


def remove_anomaly_types(
    anomalies: anomalies_pb2.Anomalies, types_to_remove: frozenset[int]
) -> None:
    """Take reasons of these types out of anomalies."""
    for name, info in list(anomalies.anomaly_info.items()):
        kept = [reason for reason in info.reason if reason.type not in types_to_remove]
        if len(kept) == len(info.reason):
            continue
        if not kept:
            del anomalies.anomaly_info[name]
            continue
        del info.reason[:]
        info.reason.extend(kept)
        info.description = " ".join(reason.description for reason in kept)
        info.short_description = kept[0].short_description if len(kept) == 1 else "Multiple errors"


def get_anomalies_slicer(anomalies: anomalies_pb2.Anomalies) -> SliceFunction:
    """A function that makes a slice of a batch for each reason in these anomalies."""

    def slice_by_reasons(record_batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        for name, info in anomalies.anomaly_info.items():
            for reason in info.reason:
                kind = anomalies_pb2.AnomalyInfo.Type.Name(reason.type)
                yield f"{name}_{kind}", record_batch

    return slice_by_reasons


def validate_examples_in_csv(
    data_location: str,
    stats_options: StatsOptions,
    column_names: list[str] | None = None,
    delimiter: str = ",",
    output_path: str | None = None,
    pipeline_options: Any = None,
    num_sampled_examples: int = 0,
) -> "Statistics | tuple[Statistics, dict[str, pd.DataFrame]]":
    """Statistics of the examples that are not as the schema says: a slice for each reason.

    Args:
        data_location: A file, a pattern, or a folder.
        stats_options: With a schema; without `infer_type_from_schema`, types are as found.
        column_names: Of files that have no header.
        delimiter: What stands between two cells.
        output_path: A TFRecord file to write the statistics to as well.
        pipeline_options: Beam's; what runner they name is not used.
        num_sampled_examples: With it, so many examples of each reason are returned too.
    """
    say_where_it_runs(pipeline_options)
    path = read_output_path(output_path) if output_path is not None else None
    options = _check_options(stats_options)
    files = bring_files(str(data_location))
    dialect = CsvDialect(delimiter=delimiter, names=tuple(column_names or ()))
    statistics, batches = count_csv(
        files, dialect, options, lambda found: _count_anomalous(found, options)
    )
    if path is not None:
        write_stats_tfrecord(statistics, path)
    if not num_sampled_examples:
        return statistics
    return statistics, {
        reason: _make_frame(rows, num_sampled_examples) for reason, rows in batches.items()
    }


def validate_examples_in_tfrecord(
    data_location: str,
    stats_options: StatsOptions,
    output_path: str | None = None,
    pipeline_options: Any = None,
    num_sampled_examples: int = 0,
) -> Any:
    """The anomalous tf.Examples of TFRecord files, counted; some of them as tf.train.Examples."""
    say_where_it_runs(pipeline_options)
    path = read_output_path(output_path) if output_path is not None else None
    options = _check_options(stats_options)
    statistics, batches = _count_anomalous(read_examples(str(data_location)), options)
    if path is not None:
        write_stats_tfrecord(statistics, path)
    if not num_sampled_examples:
        return statistics
    return statistics, {
        reason: _make_examples(rows[:num_sampled_examples]) for reason, rows in batches.items()
    }


def _check_options(options: StatsOptions) -> StatsOptions:
    if not isinstance(options, StatsOptions) or options.schema is None:
        raise ValueError("To validate examples, StatsOptions with a schema are needed.")
    return copy.copy(options)


def _count_anomalous(
    batches: Iterable[pa.RecordBatch], options: StatsOptions
) -> tuple[Statistics, dict[str, list[pa.RecordBatch]]]:
    """Statistics of the rows of each reason, and those rows."""
    rows: dict[str, list[pa.RecordBatch]] = {}
    plain = copy.copy(options)
    plain.experimental_slice_functions = None
    for batch in batches:
        for row, found in _find_anomalous(batch, plain):
            for reason, _ in get_anomalies_slicer(found)(row):
                rows.setdefault(str(reason), []).append(row)
    statistics = Statistics()
    for reason, examples in rows.items():
        (dataset,) = count(examples, plain).datasets
        dataset.name = reason
        statistics.datasets.append(dataset)
    if not rows:
        statistics.datasets.add()
    return statistics, rows


def _find_anomalous(
    batch: pa.RecordBatch, options: StatsOptions
) -> Iterator[tuple[pa.RecordBatch, anomalies_pb2.Anomalies]]:
    """The rows that have anomalies, with these, by halving what has some."""
    found = validate_instance(batch, options)
    if batch.num_rows == 1:
        if found.anomaly_info:
            yield batch, found
    elif found.anomaly_info or any(map(_is_of_shares, options.schema.feature)):
        middle = batch.num_rows // 2
        yield from _find_anomalous(batch.slice(0, middle), options)
        yield from _find_anomalous(batch.slice(middle), options)


def _is_of_shares(feature: schema_pb2.Feature) -> bool:
    """Whether many examples can be as a feature says though one of them is not."""
    some_may_differ = feature.distribution_constraints.min_domain_mass < 1
    return bool(some_may_differ or feature.HasField("unique_constraints"))


def _make_frame(rows: list[pa.RecordBatch], num_rows: int) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(
        [
            {name: (cell or [None])[0] for name, cell in row.to_pylist()[0].items()}
            for row in rows[:num_rows]
        ]
    )


def _make_examples(rows: list[pa.RecordBatch]) -> list[Any]:
    import tensorflow as tf

    from stoker.data.encode import each, encode

    return [tf.train.Example.FromString(each(encode(row, "absent"))[0]) for row in rows]
