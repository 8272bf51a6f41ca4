# SPDX-License-Identifier: Apache-2.0
"""Messages and plain data to and from JSON; to read it loads no class."""

import json
from typing import Any, Self, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

JsonableType = bool | bytes | float | int | str | list[Any] | dict[Any, Any] | None
_Message = TypeVar("_Message", bound=Message)
RUNTIME_PARAMETER_PATTERN = r'({\\*"RuntimeParameter\\*": .*?})'
"""Finds a RuntimeParameter in JSON text, however often that was quoted."""


class Jsonable:
    """An object whose attributes `dumps` writes."""

    def to_json_dict(self) -> dict[str, Any]:
        """The attributes by name."""
        return vars(self)

    @classmethod
    def from_json_dict(cls, dict_data: dict[str, Any]) -> Self:
        """The object with these attributes."""
        made = cls.__new__(cls)
        vars(made).update(dict_data)
        return made


def dumps(obj: Any) -> str:
    """`obj` as JSON text with sorted keys; messages and what is Jsonable become objects."""
    return json.dumps(obj, default=_as_plain, sort_keys=True)


def _as_plain(value: Any) -> Any:
    if isinstance(value, Message):
        return proto_to_dict(value)
    if isinstance(value, Jsonable):
        return value.to_json_dict()
    raise TypeError(
        f"{value!r} of type {type(value).__name__} cannot be written as JSON. Convert it first."
    )


def proto_to_json(proto: Message) -> str:
    """A message as JSON text; fields keep their own names."""
    return json_format.MessageToJson(proto, sort_keys=True, preserving_proto_field_name=True)


def proto_to_dict(proto: Message) -> dict[str, Any]:
    """A message as a dict; fields keep their own names."""
    return json_format.MessageToDict(proto, preserving_proto_field_name=True)


def json_to_proto(json_str: str, proto: _Message) -> _Message:
    """Fill `proto` from JSON text, and return it; fields that it does not have are left out."""
    return json_format.Parse(json_str, proto, ignore_unknown_fields=True)


def dict_to_proto(json_dict: dict[str, Any], proto: _Message) -> _Message:
    """Fill `proto` from a dict, and return it; fields that it does not have are left out."""
    return json_format.ParseDict(json_dict, proto, ignore_unknown_fields=True)
