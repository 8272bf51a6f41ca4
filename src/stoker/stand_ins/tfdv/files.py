# SPDX-License-Identifier: Apache-2.0
"""Statistics, schemas and anomalies in files: TFDV's `load_…` and `write_…`."""

import os
from pathlib import Path
from typing import TypeVar

from google.protobuf import text_format
from google.protobuf.message import Message
from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2

from stoker.data.tfrecord import read_records, write_records
from stoker.errors import BadData
from stoker.statistics.data_schema import read_schema, write_schema
from stoker.statistics.messages import Statistics, read_message
from stoker.storage.by_path import bring_here, send_there

_Kind = TypeVar("_Kind", bound=Message)


def load_statistics(input_path: str) -> Statistics:
    """The statistics in a file: a TFRecord, a binary message, or a text one."""
    path = _check_path(input_path)
    try:
        return load_stats_tfrecord(path)
    except BadData:  # what is no TFRecord may be one of the other two
        pass
    try:
        return load_stats_binary(path)
    except BadData:
        return load_stats_text(path)


def load_stats_tfrecord(input_path: str) -> Statistics:
    """The statistics in a TFRecord file of one message."""
    path = _check_path(input_path)
    records = list(read_records(path))
    if len(records) != 1:
        raise BadData(
            f"{path} holds {len(records)} records; statistics are one. Name a file of statistics."
        )
    return Statistics.FromString(records[0])


def load_stats_binary(input_path: str) -> Statistics:
    """The statistics in a file of one binary message, such as StatisticsGen's FeatureStats.pb."""
    return read_message(_check_path(input_path), Statistics, "statistics")


def load_stats_text(input_path: str) -> Statistics:
    """The statistics in a text file."""
    return _read_text(input_path, Statistics, "statistics")


def write_stats_text(stats: Statistics, output_path: str) -> None:
    """Write statistics as text."""
    _write_text(stats, Statistics, output_path)


def read_output_path(output_path: str | bytes | os.PathLike[str]) -> str:
    """Where statistics are to be written: a folder is refused, before anything is counted."""
    path = os.fsdecode(output_path)
    if path.endswith("/") or os.path.isdir(path):
        raise ValueError(
            f"output_path is the file of the statistics, got the folder {path}. Name a file in it: "
            f"{os.path.join(path, 'stats.tfrecord')}."
        )
    return path


def write_stats_tfrecord(stats: Statistics, path: str) -> None:
    """Write statistics as a TFRecord of one message."""
    with send_there(read_output_path(path)) as here:
        write_records(here, [stats.SerializeToString(deterministic=True)])


def load_schema_text(input_path: str) -> schema_pb2.Schema:
    """The schema in a text file."""
    return read_schema(_check_path(input_path))


def write_schema_text(schema: schema_pb2.Schema, output_path: str) -> None:
    """Write a schema as text."""
    check_message(schema, schema_pb2.Schema)
    with send_there(os.fspath(output_path)) as here:
        write_schema(schema, here)


def load_anomalies_text(input_path: str) -> anomalies_pb2.Anomalies:
    """The anomalies in a text file."""
    return _read_text(input_path, anomalies_pb2.Anomalies, "anomalies")


def load_anomalies_binary(input_path: str) -> anomalies_pb2.Anomalies:
    """The anomalies in a binary file, such as ExampleValidator's SchemaDiff.pb."""
    return read_message(_check_path(input_path), anomalies_pb2.Anomalies, "anomalies")


def write_anomalies_text(anomalies: anomalies_pb2.Anomalies, output_path: str) -> None:
    """Write anomalies as text."""
    _write_text(anomalies, anomalies_pb2.Anomalies, output_path)


def read_file_to_string(filename: str, binary_mode: bool = False) -> str | bytes:
    """The content of a file."""
    path = Path(_check_path(filename))
    return path.read_bytes() if binary_mode else path.read_text(encoding="utf-8")


def write_string_to_file(filename: str, file_content: str) -> None:
    """Write a text into a file."""
    with send_there(os.fspath(filename)) as here:
        Path(here).write_text(file_content, encoding="utf-8")


def check_message(message: object, kind: type[Message]) -> None:
    """Refuse what is not a message of this kind."""
    if not isinstance(message, kind):
        raise TypeError(f"A {kind.__name__} is needed, got a {type(message).__name__}.")


def _check_path(path: str) -> str:
    found = bring_here(os.fspath(path))
    if not os.path.isfile(found):
        raise OSError(f"There is no file {found}. Check the path.")
    return found


def _read_text(path: str, kind: type[_Kind], what: str) -> _Kind:
    found = _check_path(path)
    try:
        return text_format.Parse(Path(found).read_text(encoding="utf-8"), kind())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise BadData(
            f"{found} does not hold {what} as text: {error}. Name a file that does."
        ) from error


def _write_text(message: Message, kind: type[Message], path: str) -> None:
    check_message(message, kind)
    with send_there(os.fspath(path)) as here:
        Path(here).parent.mkdir(parents=True, exist_ok=True)
        Path(here).write_text(text_format.MessageToString(message, as_utf8=True), encoding="utf-8")
