# SPDX-License-Identifier: Apache-2.0
"""`tfx.utils.io_utils`: what any interpreter has of it, and what needs Stoker."""

from typing import TYPE_CHECKING

from google.protobuf.message import Message

from stoker.any_python import fileio, io_utils
from stoker.any_python.io_utils import *  # noqa: F403
from stoker.any_python.io_utils import ensure_local

if TYPE_CHECKING:
    from tensorflow_metadata.proto.v0 import schema_pb2

__all__ = [*io_utils.__all__, "SchemaReader", "generate_fingerprint", "write_tfrecord_file"]


def generate_fingerprint(split_name: str, file_pattern: str) -> str:
    """What identifies the files of a split: their number, size and times."""
    from stoker.data.input_files import fingerprint

    return fingerprint(split_name, fileio.glob(file_pattern))


def write_tfrecord_file(file_name: str, *protos: Message) -> None:
    """Write messages as TFRecords, gzip if the name ends in .gz."""
    from stoker.data.tfrecord import write_records

    write_records(ensure_local(file_name), (proto.SerializeToString() for proto in protos))


class SchemaReader:
    """Reads schemas."""

    def read(self, schema_path: str) -> "schema_pb2.Schema":
        """The schema in a text file."""
        from stoker.statistics.data_schema import read_schema

        return read_schema(ensure_local(schema_path))
