# SPDX-License-Identifier: Apache-2.0
"""Messages to and from JSON, as `tfx.utils.proto_utils` names it: fields keep their own names."""

from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

__all__ = ["dict_to_proto", "json_to_proto", "proto_to_dict", "proto_to_json"]

_Message = TypeVar("_Message", bound=Message)


def proto_to_json(proto: Message) -> str:
    """A message as JSON text."""
    return json_format.MessageToJson(proto, sort_keys=True, preserving_proto_field_name=True)


def proto_to_dict(proto: Message) -> dict[str, Any]:
    """A message as a dict."""
    return json_format.MessageToDict(proto, preserving_proto_field_name=True)


def json_to_proto(json_str: str, proto: _Message) -> _Message:
    """Fill `proto` from JSON text, and return it; fields that it does not have are left out."""
    return json_format.Parse(json_str, proto, ignore_unknown_fields=True)


def dict_to_proto(json_dict: dict[str, Any], proto: _Message) -> _Message:
    """Fill `proto` from a dict, and return it; fields that it does not have are left out."""
    return json_format.ParseDict(json_dict, proto, ignore_unknown_fields=True)
