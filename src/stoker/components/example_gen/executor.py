# SPDX-License-Identifier: Apache-2.0
"""What an ExampleGen does in a worker: it reads the files of a span and writes the splits."""

import abc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from google.protobuf import json_format
from google.protobuf.message import DecodeError

from stoker import dsl
from stoker.any_python.launcher_link import report
from stoker.artifacts import Examples
from stoker.components.example_gen.component import output_split_names, parse_range
from stoker.components.example_gen.spans import Chosen, choose
from stoker.data import csv
from stoker.data.encode import Nulls, as_array, each, encode, encode_feature
from stoker.data.input_files import fingerprint, matching_files
from stoker.data.shards import Block, write_splits
from stoker.data.tfrecord import read_record_blocks
from stoker.dsl.proto import example_gen_pb2
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import BadData

Blocks = Iterator[Callable[[], Block]]

_FEATURES_TAG = 0x0A  # the field 1 of a tf.Example, and of a tf.SequenceExample its context
_KEY_TYPES = [pa.large_list(pa.int64()), pa.large_list(pa.large_binary())]


class _FileExecutor(dsl.BaseExecutor, abc.ABC):
    """Reads the files of each input split and writes the output splits."""

    @abc.abstractmethod
    def blocks(self, files: list[str], key_feature: str, payload_format: int) -> Blocks:
        """What makes the blocks of examples, in order; each may be called in another thread.

        The key of an example is the whole example if `key_feature` is empty.
        """

    def write(
        self,
        files: list[str],
        split_dirs: list[str],
        hash_buckets: list[int],
        *,
        key_feature: str,
        payload_format: int,
    ) -> None:
        """Write the examples of some files to splits."""
        write_splits(self.blocks(files, key_feature, payload_format), split_dirs, hash_buckets)

    def Do(
        self,
        input_dict: dsl.Artifacts,  # noqa: ARG002
        output_dict: dsl.Artifacts,
        exec_properties: dict[str, Any],
    ) -> None:
        """Generate examples."""
        given = json_format.Parse(exec_properties["input_config"], example_gen_pb2.Input())
        wanted = json_format.Parse(exec_properties["output_config"], example_gen_pb2.Output())
        payload_format = exec_properties.get("output_data_format", 0)
        payload_format = payload_format or example_gen_pb2.FORMAT_TF_EXAMPLE
        (examples,) = output_dict["examples"]
        assert isinstance(examples, Examples)
        examples.splits = output_split_names(given, wanted)
        chosen = choose(
            exec_properties["input_base"],
            given.splits,
            parse_range(exec_properties.get("range_config")),
        )
        prints = []
        for name, pattern in chosen.patterns.items():
            files = matching_files(pattern)
            prints.append(fingerprint(name, files))
            parts = wanted.split_config.splits
            self.write(
                files,
                [examples.path(split=one) for one in [part.name for part in parts] or [name]],
                [part.hash_buckets for part in parts] or [1],
                key_feature=wanted.split_config.partition_feature_name,
                payload_format=payload_format,
            )
        _note_span(examples, chosen)
        examples.set_string_custom_property("input_fingerprint", "\n".join(prints))
        examples.set_string_custom_property("file_format", "tfrecords_gzip")
        examples.set_string_custom_property(
            "payload_format", example_gen_pb2.PayloadFormat.Name(payload_format)
        )


def _note_span(examples: Examples, chosen: Chosen) -> None:
    """Say which span this is, as properties and, where code written for TFX looks, custom ones."""
    examples.span, examples.version = chosen.span, chosen.version or 0
    examples.set_int_custom_property("span", chosen.span)
    if chosen.version is not None:
        examples.set_int_custom_property("version", chosen.version)


class CsvExecutor(_FileExecutor):
    """CSV rows to tf.Examples."""

    _look: Callable[[Sequence[str]], csv.CsvLayout] = staticmethod(csv.guess)

    def blocks(self, files: list[str], key_feature: str, payload_format: int) -> Blocks:  # noqa: ARG002, D102
        table = self._look(files)
        overflows = csv.Overflows(files, _warn)
        overflows.look_at(table)
        for cells in csv.read_cells(files, table):
            columns = partial(csv.columns_of, cells, table, overflows=overflows)
            yield partial(_encode, columns, files[0], key_feature)

    def write(self, *args: Any, **options: Any) -> None:
        """Write what the first rows suggest; after a surprise, look at all rows and start again."""
        try:
            super().write(*args, **options)
        except csv.Surprise:
            self._look = csv.scan
            super().write(*args, **options)


def _warn(text: str) -> None:
    report({"kind": "warning", "text": text})


class ParquetExecutor(_FileExecutor):
    """Rows of Parquet files to tf.Examples."""

    def blocks(self, files: list[str], key_feature: str, payload_format: int) -> Blocks:  # noqa: ARG002, D102
        from stoker.data.parquet import columns_of, read_rows

        for path, rows in read_rows(files):
            columns = partial(columns_of, rows, path)
            yield partial(_encode, columns, path, key_feature, "unset")


class JsonExecutor(_FileExecutor):
    """Lines of JSON objects to tf.Examples."""

    def blocks(self, files: list[str], key_feature: str, payload_format: int) -> Blocks:  # noqa: ARG002, D102
        from stoker.data.json_lines import columns_of, read_lines, scan

        kinds = scan(files)
        for path, lines in read_lines(files):
            columns = partial(columns_of, lines, kinds)
            yield partial(_encode, columns, path, key_feature, "unset")


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


class ImportExecutor(_FileExecutor):
    """Records as they are, checked to be what they should be."""

    def blocks(self, files: list[str], key_feature: str, payload_format: int) -> Blocks:  # noqa: D102
        make = _import
        if payload_format == example_gen_pb2.FORMAT_PROTO:
            if key_feature:
                raise _no_key(files[0], key_feature, "its records are not tf.Examples")
            make = _keep
        for path in files:
            number = 0
            for records in read_record_blocks(path):
                yield partial(make, path, number, records, key_feature)
                number += len(records)


def _keep(path: str, number: int, records: list[bytes], key_feature: str) -> Block:  # noqa: ARG001
    return Block(records=as_array(records), columns=None, keys=lambda: records)


def _import(path: str, number: int, records: list[bytes], key_feature: str) -> Block:
    """Examples with their columns; what tfx_bsl cannot decode has none, and may be wrong."""
    from tfx_bsl.coders.example_coder import ExamplesToRecordBatchDecoder

    for index, record in enumerate(records):
        if field := _find_other_field(record):
            raise BadData(f"{path}, record {number + index}: {_describe_other(field)}")
    try:
        columns = ExamplesToRecordBatchDecoder().DecodeBatch(records)
    except RuntimeError:
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
    """The same for one example, whatever it holds."""
    try:
        example = Example.FromString(record)
    except DecodeError as error:
        raise BadData(f"{path}, record {number}: this is not a tf.Example: {error}.") from error
    if not key_feature:
        return bytes(example.SerializeToString(deterministic=True))
    if key_feature not in example.features.feature:
        raise _no_key(path, key_feature, f"record {number} does not have it")
    feature = example.features.feature[key_feature]
    if feature.WhichOneof("kind") not in ("bytes_list", "int64_list"):
        raise _no_key(path, key_feature, f"record {number} holds neither integers nor bytes in it")
    return bytes(feature.SerializeToString(deterministic=True))


def _no_key(path: str, feature: str, why: str) -> BadData:
    return BadData(f"{path} cannot be split by the feature {feature!r}: {why}.")
