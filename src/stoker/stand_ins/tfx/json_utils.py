# SPDX-License-Identifier: Apache-2.0
"""JSON as `tfx.utils.json_utils` names it; plain data only, so that reading it loads no class."""

import json
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

__all__ = ["JsonableType", "dumps", "loads"]

JsonableType = bool | bytes | float | int | str | list[Any] | dict[Any, Any] | None


def dumps(obj: Any) -> str:
    """`obj` as JSON text with sorted keys; messages become objects."""
    return json.dumps(obj, default=_as_plain, sort_keys=True)


def loads(s: str) -> Any:
    """What JSON text says."""
    return json.loads(s)


def _as_plain(value: Any) -> Any:
    if isinstance(value, Message):
        return json_format.MessageToDict(value, preserving_proto_field_name=True)
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be written as JSON.")
