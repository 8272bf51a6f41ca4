# SPDX-License-Identifier: Apache-2.0
"""Messages in files: how statistics and anomalies are kept, as TFX keeps them."""

from pathlib import Path
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from stoker.errors import BadData

_Kind = TypeVar("_Kind", bound=Message)


def read_message(path: str, kind: type[_Kind], what: str) -> _Kind:
    """The message in a file, which should hold `what`."""
    try:
        return kind.FromString(Path(path).read_bytes())
    except DecodeError as error:
        raise BadData(f"{path} does not hold {what}: {error}.") from error


def write_message(message: Message, path: str) -> None:
    """Write a message; equal ones make the same bytes."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(message.SerializeToString(deterministic=True))
