# SPDX-License-Identifier: Apache-2.0
"""Whole files in one call, as `tfx.utils.io_utils` names it."""

from __future__ import annotations

import csv
import glob
import os
import re
from typing import TYPE_CHECKING, Any, Iterable, TypeVar

from . import fileio
from .layout import is_remote, only_file
from .temporary import make_temporary_dir

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = [
    "all_files_pattern",
    "copy_dir",
    "copy_file",
    "delete_dir",
    "ensure_local",
    "get_only_uri_in_dir",
    "load_csv_column_names",
    "parse_json_file",
    "parse_pbtxt_file",
    "read_bytes_file",
    "read_string_file",
    "write_bytes_file",
    "write_pbtxt_file",
    "write_string_file",
]

_Message = TypeVar("_Message", bound="Message")


def ensure_local(file_path: str) -> str:
    """The path of a file on this machine; one that is elsewhere is copied to a temporary folder."""
    if not is_remote(file_path):
        return file_path
    copied = os.path.join(make_temporary_dir(), os.path.basename(file_path))
    fileio.copy(file_path, copied)
    return copied


def copy_file(src: str, dst: str, overwrite: bool = False) -> None:
    """Copy a file, and make the directory that it goes to."""
    _make_folder_of(dst)
    fileio.copy(src, dst, overwrite=overwrite)


def copy_dir(
    src: str,
    dst: str,
    allow_regex_patterns: Iterable[str] = (),
    deny_regex_patterns: Iterable[str] = (),
) -> None:
    """Copy a directory; what was at `dst` is replaced.

    Patterns are searched for in the whole path of each file and directory: with some to allow, one
    of them must be found, and none of those to deny. A file may be copied though its directory is
    not, by itself.
    """
    allowed, denied = list(allow_regex_patterns), list(deny_regex_patterns)
    if not fileio.isdir(src):
        raise fileio.NotFoundError(f"There is no directory {src} to copy. Check the path.")
    delete_dir(ensure_local(dst))
    fileio.makedirs(dst)

    def is_wanted(path: str) -> bool:
        return (not allowed or any(re.search(one, path) for one in allowed)) and not any(
            re.search(one, path) for one in denied
        )

    for folder, subfolders, files in fileio.walk(src):
        target = os.path.join(dst, os.path.relpath(folder, src))
        for name in subfolders:
            if is_wanted(os.path.join(folder, name)):
                fileio.makedirs(os.path.join(target, name))
        for name in files:
            if is_wanted(os.path.join(folder, name)):
                copy_file(os.path.join(folder, name), os.path.join(target, name))


def delete_dir(path: str) -> None:
    """Delete a directory if there is one."""
    if fileio.isdir(path):
        fileio.rmtree(path)


def get_only_uri_in_dir(dir_path: str) -> str:
    """The path of the one file or directory in a directory."""
    return only_file(ensure_local(dir_path))


def all_files_pattern(file_pattern: str) -> str:
    """The pattern for all files of a directory, whose own name may look like a pattern."""
    is_itself = os.path.isdir(file_pattern)
    return os.path.join(glob.escape(file_pattern) if is_itself else file_pattern, "*")


def read_string_file(file_name: str) -> str:
    """The text in a file."""
    with fileio.open(file_name) as file:
        return str(file.read())


def read_bytes_file(file_name: str) -> bytes:
    """The bytes in a file."""
    with fileio.open(file_name, "rb") as file:
        return bytes(file.read())


def write_string_file(file_name: str, string_value: str) -> None:
    """Write text to a file, and make the directory that it goes to."""
    _make_folder_of(file_name)
    with fileio.open(file_name, "w") as file:
        file.write(string_value)


def write_bytes_file(file_name: str, content: bytes) -> None:
    """Write bytes to a file, and make the directory that it goes to."""
    _make_folder_of(file_name)
    with fileio.open(file_name, "wb") as file:
        file.write(content)


def write_pbtxt_file(file_name: str, proto: Message) -> None:
    """Write a message as text."""
    from google.protobuf import text_format

    write_string_file(file_name, text_format.MessageToString(proto, as_utf8=True))


def parse_pbtxt_file(file_name: str, message: _Message) -> _Message:
    """Fill `message` from a text file, and return it."""
    return _parse_text(file_name, message, allow_unknown_field=False)


def parse_newer_pbtxt_file(file_name: str, message: _Message) -> _Message:
    """Fill `message` from a text file, without the fields that its definition here does not have.

    The schema comes from a newer tensorflow-metadata than an old interpreter has.
    """
    return _parse_text(file_name, message, allow_unknown_field=True)


def _parse_text(file_name: str, message: _Message, *, allow_unknown_field: bool) -> _Message:
    from google.protobuf import text_format

    text = read_string_file(file_name)
    try:
        return text_format.Parse(text, message, allow_unknown_field=allow_unknown_field)
    except (text_format.ParseError, RecursionError) as error:
        raise ValueError(
            f"{file_name} does not hold a {message.DESCRIPTOR.name} as text: {error}."
            " Name a file that does."
        ) from error


def read_newer_schema(schema_path: str) -> Any:
    """The schema in a text file, as far as the tensorflow-metadata of this interpreter knows it."""
    from tensorflow_metadata.proto.v0 import schema_pb2

    return parse_newer_pbtxt_file(schema_path, schema_pb2.Schema())


def parse_json_file(file_name: str, message: _Message) -> _Message:
    """Fill `message` from a JSON file, and return it."""
    from google.protobuf import json_format

    return json_format.Parse(read_string_file(file_name), message)


def load_csv_column_names(csv_file: str) -> list[str]:
    """The names in the first line of a CSV file."""
    with fileio.open(csv_file) as file:
        return next(csv.reader(file), [])


def _make_folder_of(file_name: str) -> None:
    folder = os.path.dirname(file_name)
    if folder:
        fileio.makedirs(folder)
