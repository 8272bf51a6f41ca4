# SPDX-License-Identifier: Apache-2.0
"""TFDV's PTransforms, where Apache Beam is installed.

All batches go to one worker, which counts them as they come: the counting is fast, and its results
are those of `generate_statistics_from_…`.
"""

import abc
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from stoker.errors import MissingPart
from stoker.stand_ins.tfdv.files import read_output_path, write_stats_text, write_stats_tfrecord
from stoker.stand_ins.tfdv.stats_options import StatsOptions
from stoker.statistics.messages import Statistics

if TYPE_CHECKING:
    import pyarrow as pa

try:
    import apache_beam as beam
except ImportError as error:
    raise MissingPart(
        "TFDV's transforms run on Apache Beam: pip install 'stoker[transform]'. Without it, use "
        "generate_statistics_from_csv, _tfrecord or _dataframe.",
        name="apache_beam",
    ) from error


class GenerateStatistics(beam.PTransform):  # type: ignore[misc]
    """The statistics of a PCollection of pyarrow.RecordBatches whose columns are lists."""

    def __init__(self, options: StatsOptions | None = None) -> None:
        super().__init__()
        if options is not None and not isinstance(options, StatsOptions):
            raise TypeError(f"options are StatsOptions, got a {type(options).__name__}.")
        self._options = options or StatsOptions()

    def expand(self, dataset: Any) -> Any:  # noqa: D102
        batches = dataset | "Key" >> beam.Map(lambda batch: (None, batch))
        nothing = dataset.pipeline | "Nothing" >> beam.Create([(None, None)])
        return (
            (batches, nothing)
            | beam.Flatten()
            | "Gather" >> beam.GroupByKey()
            | "Count" >> beam.Map(_count, options=self._options)
        )


def _count(
    gathered: "tuple[None, Iterable[pa.RecordBatch | None]]", options: StatsOptions
) -> Statistics:
    from stoker.stand_ins.tfdv.generate import count

    return count((batch for batch in gathered[1] if batch is not None), options)


class DecodeCSV(beam.PTransform):  # type: ignore[misc]
    """Lines of CSV as batches; types are those that all lines together have."""

    def __init__(
        self,
        column_names: list[str],
        delimiter: str = ",",
        skip_blank_lines: bool = True,
        schema: Any = None,
        desired_batch_size: int | None = 1000,
        multivalent_columns: list[str] | None = None,
        secondary_delimiter: str | bytes | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(column_names, list):
            raise TypeError(f"column_names is a list, got a {type(column_names).__name__}.")
        self._how = {
            "column_names": column_names,
            "delimiter": delimiter,
            "skip_blank_lines": skip_blank_lines,
            "schema": schema,
            "desired_batch_size": desired_batch_size,
            "multivalent_columns": multivalent_columns,
            "secondary_delimiter": secondary_delimiter,
        }

    def expand(self, lines: Any) -> Any:  # noqa: D102
        from tfx_bsl.coders.csv_decoder import CSVToRecordBatch

        return lines | "Decode" >> CSVToRecordBatch(**self._how)


class DecodeTFExample(beam.PTransform):  # type: ignore[misc]
    """Serialized tf.Examples as batches, which older editions of TFDV had."""

    def __init__(self, schema: Any = None, desired_batch_size: int = 1000) -> None:
        super().__init__()
        self._schema, self._batch_size = schema, desired_batch_size

    def expand(self, examples: Any) -> Any:  # noqa: D102
        batched = examples | beam.BatchElements(max_batch_size=self._batch_size)
        return batched | beam.FlatMap(_decode, schema=self._schema)


def _decode(records: list[bytes], schema: Any) -> "Iterable[pa.RecordBatch]":
    from stoker.data.decode import decode

    return decode(records, schema)


class BatchExamplesToArrowRecordBatches(beam.PTransform):  # type: ignore[misc]
    """Examples as batches: each is a dictionary of arrays, or of None for what it has not."""

    def __init__(self, desired_batch_size: int | None = 1000) -> None:
        super().__init__()
        self._batch_size = desired_batch_size

    def expand(self, examples: Any) -> Any:  # noqa: D102
        batched = examples | beam.BatchElements(max_batch_size=self._batch_size or 1000)
        return batched | beam.Map(_batch)


def _batch(examples: list[dict[str, Any]]) -> "pa.RecordBatch":
    import numpy as np
    import pyarrow as pa

    names = dict.fromkeys(name for example in examples for name in example)
    columns: dict[str, pa.Array] = {}
    for name in names:
        values = [example.get(name) for example in examples]
        columns[name] = pa.array([None if one is None else np.asarray(one) for one in values])
    return pa.RecordBatch.from_pydict(columns)


class _Write(beam.PTransform):  # type: ignore[misc]
    def __init__(self, output_path: str) -> None:
        super().__init__()
        self._path = output_path

    def expand(self, stats: Any) -> Any:
        return stats | "Write" >> beam.Map(self.write, path=self._path)

    @staticmethod
    @abc.abstractmethod
    def write(stats: Statistics, path: str) -> None:
        """Write the file, which is of another kind in each class below."""


class WriteStatisticsToTFRecord(_Write):
    """Writes statistics as a TFRecord of one message."""

    def __init__(self, output_path: str, sharded_output: bool = False) -> None:
        if sharded_output:
            raise MissingPart(
                "Stoker writes statistics into one file: leave out sharded_output.",
                name="sharded_output",
            )
        super().__init__(read_output_path(output_path))

    @staticmethod
    def write(stats: Statistics, path: str) -> None:  # noqa: D102
        write_stats_tfrecord(stats, path)


class WriteStatisticsToBinaryFile(_Write):
    """Writes statistics as one binary message."""

    @staticmethod
    def write(stats: Statistics, path: str) -> None:  # noqa: D102
        from stoker.statistics.messages import write_message
        from stoker.storage.by_path import send_there

        with send_there(path) as here:
            write_message(stats, here)


class WriteStatisticsToText(_Write):
    """Writes statistics as text."""

    @staticmethod
    def write(stats: Statistics, path: str) -> None:  # noqa: D102
        write_stats_text(stats, path)


class WriteStatisticsToRecordsAndBinaryFile(_Write):
    """Writes statistics as a TFRecord and as one binary message."""

    def __init__(
        self, binary_proto_path: str, records_path_prefix: str, columnar_path_prefix: Any = None
    ) -> None:
        super().__init__(binary_proto_path)
        if columnar_path_prefix is not None:
            raise MissingPart(
                "Stoker writes no columnar statistics: leave out columnar_path_prefix.",
                name="columnar_path_prefix",
            )
        self._records = f"{records_path_prefix}-00000-of-00001"

    def expand(self, stats: Any) -> Any:  # noqa: D102
        _ = stats | "WriteRecords" >> WriteStatisticsToTFRecord(self._records)
        return stats | "WriteBinary" >> WriteStatisticsToBinaryFile(self._path)


class MergeDatasetFeatureStatisticsList(beam.PTransform):  # type: ignore[misc]
    """Several parts of the same statistics in one message."""

    def expand(self, stats: Any) -> Any:  # noqa: D102
        return stats | beam.CombineGlobally(_merge)


def _merge(parts: Iterable[Statistics]) -> Statistics:
    merged = Statistics()
    by_name = {}
    for part in parts:
        for dataset in part.datasets:
            if dataset.name not in by_name:
                by_name[dataset.name] = merged.datasets.add()
                by_name[dataset.name].CopyFrom(dataset)
            else:
                by_name[dataset.name].features.extend(dataset.features)
    return merged
