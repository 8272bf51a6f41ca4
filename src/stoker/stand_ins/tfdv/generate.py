# SPDX-License-Identifier: Apache-2.0
"""Statistics of files and data frames: TFDV's `generate_statistics_from_…`, without Beam."""

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.data.columns import read_batches
from stoker.data.csv import (
    CsvDialect,
    CsvLayout,
    Kind,
    Surprise,
    columns_of,
    guess,
    read_cells,
    scan,
)
from stoker.data.input_files import bring_files
from stoker.errors import BadData
from stoker.stand_ins.beam_options import say_where_it_runs
from stoker.stand_ins.tfdv.files import read_output_path, write_stats_tfrecord
from stoker.stand_ins.tfdv.slicing import find_slicers
from stoker.stand_ins.tfdv.stats_options import StatsOptions
from stoker.statistics.compute import Counts
from stoker.statistics.messages import Statistics

if TYPE_CHECKING:
    import pandas as pd

_KINDS = {schema_pb2.INT: Kind.INT, schema_pb2.FLOAT: Kind.FLOAT, schema_pb2.BYTES: Kind.BYTES}
_SAMPLE_SEED = 20


def generate_statistics_from_csv(
    data_location: str,
    column_names: list[str] | None = None,
    delimiter: str = ",",
    output_path: str | None = None,
    stats_options: StatsOptions | None = None,
    pipeline_options: Any = None,
    compression_type: str = "auto",  # noqa: ARG001
) -> Statistics:
    """The statistics of CSV files; an empty cell is a missing value.

    Args:
        data_location: A file, a pattern, or a folder; gzip is told by the files' content.
        column_names: Of files that have no header; without it, the first line of each has them.
        delimiter: What stands between two cells.
        output_path: A TFRecord file to write the statistics to as well.
        stats_options: What is counted.
        pipeline_options: Beam's; what runner they name is not used.
        compression_type: Not needed here.
    """
    say_where_it_runs(pipeline_options)
    path = read_output_path(output_path) if output_path is not None else None
    options = stats_options or StatsOptions()
    files = bring_files(str(data_location))
    dialect = CsvDialect(delimiter=delimiter, names=tuple(column_names or ()))
    statistics = count_csv(files, dialect, options, lambda batches: count(batches, options))
    return _keep(statistics, path)


def count_csv(
    files: Sequence[str],
    dialect: CsvDialect,
    options: StatsOptions,
    use: Callable[[Iterator[pa.RecordBatch]], Any],
) -> Any:
    """What `use` makes of the batches of CSV files; again from the start after a Surprise."""
    if options.infer_type_from_schema and options.schema:
        return use(_read_typed_csv(files, dialect, options.schema))
    try:
        return use(_read_csv(files, guess(files, dialect)))
    except Surprise:
        return use(_read_csv(files, scan(files, dialect)))


def _read_typed_csv(
    files: Sequence[str], dialect: CsvDialect, schema: schema_pb2.Schema
) -> Iterator[pa.RecordBatch]:
    """The columns that the schema knows, with its types; others are left out, as by TFDV."""
    layout = scan(files, dialect)  # which knows how long the longest row is
    types = {feature.name: _KINDS.get(feature.type) for feature in schema.feature}
    kinds = {name: kind for name in layout.kinds if (kind := types.get(name)) is not None}
    for cells in read_cells(files, layout):
        columns = [
            _read_typed_column(cells.select([name]), name, kind, layout)
            for name, kind in kinds.items()
        ]
        yield pa.RecordBatch.from_arrays(columns, list(kinds))


def _read_typed_column(cells: pa.RecordBatch, name: str, kind: Kind, layout: CsvLayout) -> pa.Array:
    alone = dataclasses.replace(layout, kinds={name: kind})
    try:
        return columns_of(cells, alone, empty_is_null=True).column(0)
    except Surprise as error:
        raise BadData(
            f"The column {name!r} is {kind.name} in the schema, and a cell of it is not. Correct "
            "the data or the schema, or leave out infer_type_from_schema."
        ) from error


def _read_csv(files: Sequence[str], layout: CsvLayout) -> Iterator[pa.RecordBatch]:
    for cells in read_cells(files, layout):
        yield columns_of(cells, layout, empty_is_null=True)


def get_csv_header(
    data_location: str,
    delimiter: str,
    compression_type: str = "auto",  # noqa: ARG001
) -> list[str]:
    """The names of the columns of CSV files, which all have to have the same."""
    files = bring_files(str(data_location))
    return list(guess(files, CsvDialect(delimiter=delimiter)).kinds)


def generate_statistics_from_tfrecord(
    data_location: str,
    output_path: str | None = None,
    stats_options: StatsOptions | None = None,
    pipeline_options: Any = None,
) -> Statistics:
    """The statistics of TFRecord files of tf.Examples.

    Args:
        data_location: A file, a pattern, or a folder; gzip is told by the files' content.
        output_path: A TFRecord file to write the statistics to as well.
        stats_options: What is counted.
        pipeline_options: Beam's; what runner they name is not used.
    """
    say_where_it_runs(pipeline_options)
    path = read_output_path(output_path) if output_path is not None else None
    options = stats_options or StatsOptions()
    return _keep(count(read_examples(str(data_location)), options), path)


def read_examples(data_location: str) -> Iterator[pa.RecordBatch]:
    """The examples of files, one file after the other, so that only one is in memory."""
    for shard in bring_files(data_location):
        yield from read_batches([shard])


def generate_statistics_from_dataframe(
    dataframe: "pd.DataFrame",
    stats_options: StatsOptions | None = None,
    n_jobs: int = 1,
) -> Statistics:
    """The statistics of a data frame; None and NaN are missing values.

    Columns of text, bytes, numbers and booleans are counted; those of other types, such as dates,
    are left out, as by TFDV.

    Args:
        dataframe: A pandas.DataFrame.
        stats_options: What is counted.
        n_jobs: TFDV's number of processes; all cores are used here in any case.
    """
    import pandas as pd

    if not isinstance(dataframe, pd.DataFrame):
        raise TypeError(f"A pandas.DataFrame is needed, got a {type(dataframe).__name__}.")
    if n_jobs < -1 or n_jobs == 0:
        raise ValueError(f"n_jobs is -1, for all cores, or at least 1; got {n_jobs}.")
    options = stats_options or StatsOptions()
    return count_in_memory(_convert_frame(dataframe), options)


def count_in_memory(
    record_batch: pa.RecordBatch, options: StatsOptions | None = None
) -> Statistics:
    """The statistics of one batch; of what is in memory, TFDV counts words by sketches."""
    sketched = copy.copy(options or StatsOptions())
    sketched.use_sketch_based_topk_uniques = True
    return count([record_batch], sketched)


def _convert_frame(dataframe: "pd.DataFrame") -> pa.RecordBatch:
    """A data frame as columns of lists."""
    countable = [place for place, kind in enumerate(dataframe.dtypes) if kind.kind in "iufbOSU"]
    batch = pa.RecordBatch.from_pandas(dataframe.iloc[:, countable])
    columns = [_as_lists(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _as_lists(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int64())
    if pa.types.is_null(column.type) or pa.types.is_list(column.type):
        return column
    from stoker.data.encode import as_lists

    return as_lists(column, empty_is_null=True)


def count(batches: Iterable[pa.RecordBatch], options: StatsOptions) -> Statistics:
    """The statistics of batches, as the options say."""
    return count_shard(batches, options).describe()


def count_shard(
    batches: Iterable[pa.RecordBatch], options: StatsOptions, number: int = 0
) -> Counts:
    """What is counted of the shard of this number, to be merged with that of others."""
    if options.sample_rate is not None:
        batches = _sample(batches, options.sample_rate, number)
    return Counts.of(batches, options.schema, options.for_counting(), find_slicers(options))


def _sample(
    batches: Iterable[pa.RecordBatch], rate: float, number: int
) -> Iterator[pa.RecordBatch]:
    """Each row with this probability; the same rows every time."""
    dice = np.random.default_rng([_SAMPLE_SEED, number] if number else _SAMPLE_SEED)
    for batch in batches:
        yield batch.filter(pa.array(dice.random(batch.num_rows) < rate))


def _keep(statistics: Statistics, path: str | None) -> Statistics:
    if path is not None:
        write_stats_tfrecord(statistics, path)
    return statistics
