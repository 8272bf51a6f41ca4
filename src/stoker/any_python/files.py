# SPDX-License-Identifier: Apache-2.0
"""Files as `tfx.dsl.io.fileio`, `tfx.utils.io_utils` and `path_utils` name their operations."""

from __future__ import annotations

import builtins
import csv
import glob as _glob
import os
import shutil
from typing import IO, Any


def open(path: str, mode: str = "r") -> IO[Any]:
    """Open a file; text is UTF-8."""
    return builtins.open(path, mode, encoding=None if "b" in mode else "utf-8")


def listdir(path: str) -> list[str]:
    """The names in a directory, sorted."""
    return sorted(os.listdir(path))


def glob(pattern: str) -> list[str]:
    """The paths that match a pattern, sorted."""
    return sorted(_glob.glob(pattern))


def makedirs(path: str) -> None:
    """Make a directory and those above it, unless they exist."""
    os.makedirs(path, exist_ok=True)


def copy(src: str, dst: str, overwrite: bool = False) -> None:
    """Copy a file."""
    _refuse_to_overwrite(dst, overwrite)
    shutil.copyfile(src, dst)


def rename(src: str, dst: str, overwrite: bool = False) -> None:
    """Move a file or a directory."""
    _refuse_to_overwrite(dst, overwrite)
    os.replace(src, dst)


def _refuse_to_overwrite(target: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(target):
        raise FileExistsError(f"{target} exists. Give overwrite=True to replace it.")


def copy_file(src: str, dst: str, overwrite: bool = False) -> None:
    """Copy a file, and make the directory that it goes to."""
    _make_room(dst)
    copy(src, dst, overwrite)


def copy_dir(src: str, dst: str) -> None:
    """Copy a directory; what was at `dst` is replaced."""
    delete_dir(dst)
    shutil.copytree(src, dst)


def delete_dir(path: str) -> None:
    """Delete a directory if there is one."""
    if os.path.isdir(path):
        shutil.rmtree(path)


def only_below(path: str, what: str) -> str:
    """The path of the one thing in a directory."""
    entries = sorted(entry for entry in os.listdir(path) if not entry.startswith("."))
    if len(entries) != 1:
        raise ValueError(f"{path} should hold one {what}, but holds {entries or 'nothing'}.")
    return os.path.join(path, entries[0])


def get_only_uri_in_dir(dir_path: str) -> str:
    """The path of the one file or directory in a directory."""
    return only_below(dir_path, "file")


def all_files_pattern(file_pattern: str) -> str:
    """The pattern for all files of a directory."""
    return os.path.join(file_pattern, "*")


def read_string_file(file_name: str) -> str:
    """The text in a file."""
    with open(file_name) as file:
        return str(file.read())


def read_bytes_file(file_name: str) -> bytes:
    """The bytes in a file."""
    with open(file_name, "rb") as file:
        return bytes(file.read())


def write_string_file(file_name: str, string_value: str) -> None:
    """Write text to a file, and make the directory that it goes to."""
    _make_room(file_name)
    with open(file_name, "w") as file:
        file.write(string_value)


def write_bytes_file(file_name: str, content: bytes) -> None:
    """Write bytes to a file, and make the directory that it goes to."""
    _make_room(file_name)
    with open(file_name, "wb") as file:
        file.write(content)


def _make_room(file_name: str) -> None:
    folder = os.path.dirname(file_name)
    if folder:
        makedirs(folder)


def write_pbtxt_file(file_name: str, proto: Any) -> None:
    """Write a message as text."""
    from google.protobuf import text_format

    write_string_file(file_name, text_format.MessageToString(proto, as_utf8=True))


def parse_pbtxt_file(file_name: str, message: Any) -> Any:
    """Fill `message` from a text file, and return it.

    A field that is younger than the message's definition here is passed over.
    """
    from google.protobuf import text_format

    try:
        return text_format.Parse(read_string_file(file_name), message, allow_unknown_field=True)
    except text_format.ParseError as error:
        raise ValueError(
            f"{file_name} does not hold a {message.DESCRIPTOR.name} as text: {error}"
        ) from error


def parse_json_file(file_name: str, message: Any) -> Any:
    """Fill `message` from a JSON file, and return it."""
    from google.protobuf import json_format

    return json_format.Parse(read_string_file(file_name), message)


def load_csv_column_names(csv_file: str) -> list[str]:
    """The names in the first line of a CSV file."""
    with open(csv_file) as file:
        return next(csv.reader(file), [])


class SchemaReader:
    """Reads schemas."""

    def read(self, schema_path: str) -> Any:
        """The schema in a text file."""
        from tensorflow_metadata.proto.v0 import schema_pb2

        return parse_pbtxt_file(schema_path, schema_pb2.Schema())


def serving_model_dir(output_uri: str) -> str:
    """Where a Model keeps what is served."""
    return os.path.join(output_uri, "Format-Serving")


def eval_model_dir(output_uri: str) -> str:
    """Where a Model keeps its EvalSavedModel."""
    return os.path.join(output_uri, "Format-TFMA")
