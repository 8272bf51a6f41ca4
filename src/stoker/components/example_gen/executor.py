# SPDX-License-Identifier: Apache-2.0
"""What an ExampleGen does in a worker: it reads the files of a span and writes the splits.

Where the format is known, whole columns are read, without Beam. Who changes how such an executor
reads, by a PTransform of their own, has it read with Beam: `BaseExampleGenExecutor`.
"""

import abc
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa
from google.protobuf.message import DecodeError

from stoker import dsl
from stoker.any_python.launcher_link import report, report_doing
from stoker.any_python.progress import advance, follow
from stoker.artifacts import Examples
from stoker.components.example_gen.beam_executor import BaseExampleGenExecutor, describe_records
from stoker.components.example_gen.configs import name_output_splits, parse_configs
from stoker.components.example_gen.spans import below
from stoker.data import csv
from stoker.data.arrow_features import as_features
from stoker.data.decode import decode_batch
from stoker.data.encode import Nulls, as_array, each, encode, encode_feature
from stoker.data.input_files import estimate_lines, matching_files
from stoker.data.sharding import plan_shards
from stoker.data.shards import Block, Parts, join_parts, write_parts
from stoker.data.tfrecord import estimate_records, read_record_blocks
from stoker.dsl.pool import LocalPool, Pool
from stoker.dsl.proto import example_gen_pb2
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import BadData

Blocks = Iterator[Callable[[], Block]]

_LEAST_SHARD_BYTES = 16 << 20
_MOST_SHARD_BYTES = 64 << 20
"""Of the input: what is written of it makes a file of its own."""
_FEATURES_TAG = 0x0A  # the field 1 of a tf.Example, and of a tf.SequenceExample its context
_KEY_TYPES = [pa.large_list(pa.int64()), pa.large_list(pa.large_binary())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the examples of one split come from."""

    places: list[str]
    """Files; or a query."""
    key_feature: str = ""
    """The feature that decides where an example goes; if empty, all of the example does."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of the step."""
    layout: Any = None
    """What `look` has found out of all places, where these are only some of them."""

    @property
    def payload_format(self) -> int:
        """What the records are."""
        return self.parameters.get("output_data_format") or example_gen_pb2.FORMAT_TF_EXAMPLE


class ColumnsExecutor(BaseExampleGenExecutor, abc.ABC):
    """Reads columns of each input split and writes the output splits."""

    def __init__(self, context: Any = None) -> None:
        super().__init__(context)
        self.warnings: dict[str, str] = {}
        """What to tell of a split that is no error: one text for each thing that it is about."""

    @abc.abstractmethod
    def blocks(self, source: Source) -> Blocks:
        """What makes the blocks of examples, in order; each may be called in another thread."""

    def find_places(self, parameters: Mapping[str, Any], pattern: str) -> list[str]:
        """The files that a split's pattern means."""
        return matching_files(below(parameters["input_base"], pattern))

    def look(self, source: Source, pool: Pool) -> Any:  # noqa: ARG002
        """What has to be known of all places before some of them are read."""
        return None

    def write(self, source: Source, split_dirs: list[str], hash_buckets: list[int]) -> None:
        """Write the examples of a source to splits, a few files of it at a time."""
        shards = _plan(source)
        is_ours = type(self).__module__.startswith("stoker.")  # a cluster knows no other class
        total = self.estimate_rows(source)
        with self._context.open_pool(len(shards) if is_ours else 1) as pool:
            source = replace(source, layout=self.look(source, pool))
            write = partial(_write_shard, type(self), source, split_dirs, hash_buckets)
            with follow("reading", total=total, is_about=True):
                join_parts(self._take_parts(pool.map(write, shards)), split_dirs)
        for text in self.warnings.values():
            warn(text)
        self.warnings = {}  # the next split has its own

    def _take_parts(self, written: "Iterator[tuple[Parts, dict[str, str]]]") -> Iterator[Parts]:
        for parts, warnings in written:
            self.warnings = {**warnings, **self.warnings}
            yield parts

    def estimate_rows(self, source: Source) -> int | None:  # noqa: ARG002
        """About how many rows there are, where that can be told without reading them all."""
        return None

    def read(self, source: Source) -> Iterator[bytes]:
        """The serialized examples of a source, one by one."""
        for make in self.blocks(replace(source, layout=self.look(source, LocalPool()))):
            yield from each(make().records)

    def GetInputSourceToExamplePTransform(self) -> Callable[..., Any]:  # noqa: D102
        from stoker.components.example_gen.beam_reading import ReadColumns

        return partial(ReadColumns, type(self))

    def Do(
        self,
        input_dict: dsl.Artifacts,
        output_dict: dsl.Artifacts,
        exec_properties: dict[str, Any],
    ) -> None:
        """Generate examples."""
        if self._is_changed_by_a_subclass():
            super().Do(input_dict, output_dict, exec_properties)
            return
        given, wanted = parse_configs(exec_properties)
        (examples,) = output_dict["examples"]
        assert isinstance(examples, Examples)
        examples.splits = name_output_splits(given, wanted)
        parts = wanted.split_config.splits
        for split in given.splits:
            source = Source(
                places=self.find_places(exec_properties, split.pattern),
                key_feature=wanted.split_config.partition_feature_name,
                parameters=exec_properties,
            )
            names = [part.name for part in parts] or [split.name]
            split_dirs = [examples.path(split=name) for name in names]
            self.write(source, split_dirs, [part.hash_buckets for part in parts] or [1])
        describe_records(examples, exec_properties)

    def _is_changed_by_a_subclass(self) -> bool:
        return (
            type(self).GenerateExamplesByBeam is not ColumnsExecutor.GenerateExamplesByBeam
            or type(self).GetInputSourceToExamplePTransform
            is not ColumnsExecutor.GetInputSourceToExamplePTransform
        )


def _plan(source: Source) -> list[list[str]]:
    """The places of each shard."""
    shards = plan_shards(source.places, least=_LEAST_SHARD_BYTES, most=_MOST_SHARD_BYTES)
    return [list(shard.files) for shard in shards]


def _write_shard(
    executor_class: type[ColumnsExecutor],
    source: Source,
    split_dirs: list[str],
    hash_buckets: list[int],
    places: list[str],
) -> tuple[Parts, dict[str, str]]:
    """Write some places of a source; what there is to warn of comes by what it is about."""
    executor = executor_class()
    makes = executor.blocks(replace(source, places=places))
    blocks = (partial(_make_and_count, make) for make in makes)
    return write_parts(blocks, split_dirs, hash_buckets), executor.warnings


def _make_and_count(make: Callable[[], Block]) -> Block:
    block = make()
    advance(len(block.records))
    return block


class CsvExecutor(ColumnsExecutor):
    """CSV rows to tf.Examples."""

    _scans = False

    def estimate_rows(self, source: Source) -> int | None:  # noqa: D102
        return estimate_lines(source.places)

    def look(self, source: Source, pool: Pool) -> csv.CsvLayout:  # noqa: D102
        if not self._scans:
            return csv.guess(source.places)
        report_doing("looking at all rows")
        table, shards = csv.start_layout(source.places), _plan(source)
        scan = partial(csv.scan_some, table, may_be_empty=len(shards) > 1)
        return functools.reduce(csv.merge_layouts, pool.map(scan, shards))

    def blocks(self, source: Source) -> Blocks:  # noqa: D102
        files, table = source.places, source.layout
        overflows = csv.Overflows(files, self.warnings.setdefault)
        overflows.look_at(table)
        for cells in csv.read_cells(files, table, may_be_empty=True):  # of all, `look` would tell
            columns = partial(csv.columns_of, cells, table, overflows=overflows)
            yield partial(_encode, columns, files[0], source.key_feature)

    def write(self, *args: Any) -> None:
        """Write what the first rows suggest; after a surprise, look at all rows and start again."""
        try:
            super().write(*args)
        except csv.Surprise:
            self._scans = True
            super().write(*args)

    def read(self, source: Source) -> Iterator[bytes]:
        """Look at all rows first: what was given cannot be taken back."""
        self._scans = True
        return super().read(source)


def read_csv(exec_properties: Mapping[str, Any], split_pattern: str) -> Any:
    """A PTransform that reads the tf.Examples of CSV files."""
    return CsvExecutor().GetInputSourceToExamplePTransform()(exec_properties, split_pattern)


def warn(text: str) -> None:
    """Tell the user something that is no error."""
    report({"kind": "warning", "text": text})


class ParquetExecutor(ColumnsExecutor):
    """Rows of Parquet files to tf.Examples."""

    def look(self, source: Source, pool: Pool) -> None:  # noqa: ARG002, D102
        from stoker.data.parquet import check_files

        check_files(source.places)

    def blocks(self, source: Source) -> Blocks:  # noqa: D102
        from stoker.data.parquet import read_rows

        yield from encode_rows(read_rows(source.places), source.key_feature)

    def estimate_rows(self, source: Source) -> int | None:  # noqa: D102
        from stoker.data.parquet import count_rows

        return count_rows(source.places)


class AvroExecutor(ColumnsExecutor):
    """Rows of Avro files to tf.Examples."""

    def look(self, source: Source, pool: Pool) -> None:  # noqa: ARG002, D102
        from stoker.data.avro import check_files

        check_files(source.places)

    def blocks(self, source: Source) -> Blocks:  # noqa: D102
        from stoker.data.avro import read_rows

        yield from encode_rows(read_rows(source.places), source.key_feature)


class JsonExecutor(ColumnsExecutor):
    """Lines of JSON objects to tf.Examples."""

    def look(self, source: Source, pool: Pool) -> pa.Schema:  # noqa: ARG002, D102
        from stoker.data.json_lines import scan

        return scan(source.places)

    def blocks(self, source: Source) -> Blocks:  # noqa: D102
        from stoker.data.json_lines import columns_of, read_lines

        for path, lines in read_lines(source.places):
            columns = partial(columns_of, lines, source.layout)
            yield partial(_encode, columns, path, source.key_feature, "unset")

    def estimate_rows(self, source: Source) -> int | None:  # noqa: D102
        return estimate_lines(source.places)


def encode_rows(rows: Iterator[tuple[str, pa.RecordBatch]], key_feature: str) -> Blocks:
    """Blocks of typed rows, each batch with the place that it is from."""
    for place, batch in rows:
        yield partial(_encode, partial(as_features, batch, place), place, key_feature, "unset")


def _encode(
    make_columns: Callable[[], pa.RecordBatch], path: str, key_feature: str, nulls: Nulls = "empty"
) -> Block:
    columns = make_columns()
    if not key_feature:
        return Block(records=encode(columns, nulls), columns=columns)
    keys = _feature_keys(columns, path, key_feature, nulls)
    return Block(records=encode(columns, nulls), columns=columns, keys=lambda: keys)


def _feature_keys(
    columns: pa.RecordBatch, path: str, key_feature: str, nulls: Nulls
) -> list[bytes]:
    if key_feature not in columns.schema.names:
        raise _no_key(path, key_feature, f"the columns are {columns.schema.names}")
    column = columns.column(key_feature)
    if column.type not in _KEY_TYPES:
        raise _no_key(path, key_feature, "it holds neither integers nor text")
    if nulls != "empty" and column.null_count:
        raise _no_key(path, key_feature, "some rows do not have it")
    return each(encode_feature(column))


class ImportExecutor(ColumnsExecutor):
    """Records as they are, checked to be what they should be."""

    def blocks(self, source: Source) -> Blocks:  # noqa: D102
        make, key_feature = _import, source.key_feature
        if source.payload_format == example_gen_pb2.FORMAT_PROTO:
            if key_feature:
                raise _no_key(source.places[0], key_feature, "its records are not tf.Examples")
            make = _keep
        for path in source.places:
            number = 0
            for records in read_record_blocks(path):
                yield partial(make, path, number, records, key_feature)
                number += len(records)

    def estimate_rows(self, source: Source) -> int | None:  # noqa: D102
        return estimate_records(source.places)


def _keep(path: str, number: int, records: list[bytes], key_feature: str) -> Block:  # noqa: ARG001
    return Block(records=as_array(records), columns=None, keys=lambda: records)


def _import(path: str, number: int, records: list[bytes], key_feature: str) -> Block:
    """Examples with their columns; what cannot be decoded has none, and may be wrong."""
    for index, record in enumerate(records):
        if field := _find_other_field(record):
            raise BadData(f"{path}, record {number + index}: {_describe_other(field)}")
    try:
        columns = decode_batch(records)
    except BadData:
        columns = None

    def keys() -> list[bytes]:
        known = _keys_by_columns(columns, records, key_feature)
        return [
            _key_of_record(path, number + index, record, key_feature) if key is None else key
            for index, (key, record) in enumerate(zip(known, records, strict=True))
        ]

    if columns is None:
        found = keys()
        return Block(records=as_array(records), columns=None, keys=lambda: found)
    return Block(records=as_array(records), columns=columns, keys=keys)


def _find_other_field(record: bytes) -> int:
    """A field that no tf.Example has; 0 if there is none, or if this is no message at all.

    A decoder of tf.Examples passes over it, and finds no features.
    """
    place = 0
    while place < len(record):
        tag, place = _read_varint(record, place)
        if tag != _FEATURES_TAG:
            return tag >> 3
        size, place = _read_varint(record, place)
        place += size
    return 0


def _read_varint(record: bytes, place: int) -> tuple[int, int]:
    """A number in base 128, and where it ends."""
    number = shift = 0
    while place < len(record):
        digit = record[place]
        number |= (digit & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if digit < 0x80:
            break
    return number, place


def _describe_other(field: int) -> str:
    what = "but a tf.SequenceExample" if field == 2 else f"since it has a field {field}"
    return (
        f"this is not a tf.Example, {what}. Write tf.Examples, or keep the records as they are "
        "with ImportExampleGen(payload_format=FORMAT_PROTO)."
    )


def _keys_by_columns(
    columns: pa.RecordBatch | None, records: list[bytes], key_feature: str
) -> Sequence[bytes | None]:
    """The keys of examples, deterministically serialized; None where columns do not tell all.

    They tell all if what they encode to is as long as the record: it is the same in another order.
    """
    unknown = [None] * len(records)
    if columns is None or "" in columns.schema.names:  # an empty name may be left out of a record
        return unknown
    if not key_feature:
        found = each(encode(columns, "absent"))
        pairs = zip(found, records, strict=True)
        return [key if len(key) == len(record) else None for key, record in pairs]
    if key_feature not in columns.schema.names:
        return unknown
    column = columns.column(key_feature)
    if column.null_count or column.type not in _KEY_TYPES:
        return unknown
    return each(encode_feature(column))


def _key_of_record(path: str, number: int, record: bytes, key_feature: str) -> bytes:
    """The key of one example, whatever it holds."""
    try:
        example = Example.FromString(record)
    except DecodeError as error:
        raise BadData(
            f"{path}, record {number}: this is not a tf.Example: {error}. Write tf.Examples there."
        ) from error
    if not key_feature:
        return bytes(example.SerializeToString(deterministic=True))
    if key_feature not in example.features.feature:
        raise _no_key(path, key_feature, f"record {number} does not have it")
    feature = example.features.feature[key_feature]
    if feature.WhichOneof("kind") not in ("bytes_list", "int64_list"):
        raise _no_key(path, key_feature, f"record {number} holds neither integers nor bytes in it")
    return bytes(feature.SerializeToString(deterministic=True))


def _no_key(path: str, feature: str, why: str) -> BadData:
    return BadData(
        f"{path} cannot be split by the feature {feature!r}: {why}. Name another one in "
        "partition_feature_name, or leave it out."
    )
