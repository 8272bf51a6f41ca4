# SPDX-License-Identifier: Apache-2.0
"""Property values in MLMD's columns: what the store writes for a Python value, and reads back.

int, float, str and bool have a column each. Lists and dicts are a protobuf Struct, as text in the
string column; what is not a dict is the Struct's one field `__value__`, as in TFX. A protobuf
message is an Any, as text in the proto column; in Python it reads as `{"@type": …, "value": …}`.
"""

import base64
import math
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct, Value

from stoker.artifacts import PropertyType, PropertyValue

COLUMNS = ("int_value", "double_value", "string_value", "proto_value", "bool_value")

STRUCT_PREFIX = "mlmd-struct::"
_WRAPPED = "__value__"
_EXACT = 2**53  # Struct keeps numbers as doubles
_KINDS: dict[type, PropertyType] = {
    bool: PropertyType.BOOLEAN,
    int: PropertyType.INT,
    float: PropertyType.FLOAT,
    str: PropertyType.STRING,
    dict: PropertyType.JSON_VALUE,
    list: PropertyType.JSON_VALUE,
    tuple: PropertyType.JSON_VALUE,
}
_ACCEPTED: dict[PropertyType, tuple[type, ...]] = {
    PropertyType.BOOLEAN: (bool,),
    PropertyType.INT: (int,),
    PropertyType.FLOAT: (float, int),
    PropertyType.STRING: (str,),
    PropertyType.JSON_VALUE: tuple(_KINDS),
    PropertyType.PROTO: (dict, Message),
}


def encode(name: str, value: Any, kind: PropertyType | None = None) -> dict[str, Any]:
    """The columns of the property `name`; without a declared `kind`, by the value's own type."""
    kind = kind or _kind_of(name, value)
    if not isinstance(value, _ACCEPTED[kind]):
        raise TypeError(
            f"Property {name!r} holds {kind.name}, got {value!r} of type {type(value).__name__}."
        )
    return {**dict.fromkeys(COLUMNS), **_encode_as(name, value, kind)}


def decode(row: Any) -> PropertyValue:
    """The value in a row that has MLMD's property columns."""
    if row.string_value is not None:
        struct = row.string_value.startswith(STRUCT_PREFIX)
        return _from_struct(row.string_value) if struct else str(row.string_value)
    if row.proto_value is not None:
        return _from_any(row.proto_value)
    numbers: tuple[PropertyValue, ...] = (row.int_value, row.double_value, row.bool_value)
    return next((number for number in numbers if number is not None), None)


def _kind_of(name: str, value: Any) -> PropertyType:
    for python_type, kind in _KINDS.items():
        if isinstance(value, python_type):
            return kind
    raise TypeError(
        f"Property {name!r} cannot hold {value!r} of type {type(value).__name__}. "
        "Convert it to an int, float, str, bool, list or dict."
    )


def _encode_as(name: str, value: Any, kind: PropertyType) -> dict[str, Any]:
    match kind:
        case PropertyType.INT:
            if not -(2**63) <= value < 2**63:
                raise ValueError(
                    f"Property {name!r} is {value}, which needs more than 64 bits. "
                    "Pass it as a string."
                )
            return {"int_value": int(value)}
        case PropertyType.FLOAT if math.isfinite(value):
            return {"double_value": float(value)}
        case PropertyType.STRING if not value.startswith(STRUCT_PREFIX) and "\0" not in value:
            return {"string_value": str(value)}
        case PropertyType.BOOLEAN:
            return {"bool_value": value}
        case PropertyType.PROTO:
            return {"proto_value": _to_any(value)}
        case _:  # also the floats and strings that their own columns cannot hold
            return {"string_value": _to_struct(name, value)}


def _to_struct(name: str, value: Any) -> str:
    struct = Struct()
    fields = value if isinstance(value, dict) else {_WRAPPED: value}
    for key, field in fields.items():
        _fill_value(struct.fields[str(key)], field, name)
    data = struct.SerializeToString(deterministic=True)
    return STRUCT_PREFIX + base64.b64encode(data).decode()


def _fill_value(target: Value, value: Any, name: str) -> None:
    match value:
        case None:
            target.null_value = 0  # type: ignore[assignment]
        case bool():
            target.bool_value = value
        case int() if abs(value) > _EXACT:
            raise ValueError(
                f"Property {name!r} holds the number {value}, which a JSON value in the store "
                "cannot keep exactly. Pass it as a string."
            )
        case int() | float():
            target.number_value = value
        case str():
            target.string_value = value
        case dict():
            target.struct_value.SetInParent()
            for key, field in value.items():
                _fill_value(target.struct_value.fields[str(key)], field, name)
        case list() | tuple():
            target.list_value.SetInParent()
            for item in value:
                _fill_value(target.list_value.values.add(), item, name)
        case _:
            raise TypeError(
                f"Property {name!r} holds {value!r} of type {type(value).__name__}, which JSON "
                "cannot say. Convert it first."
            )


def _from_struct(text: str) -> PropertyValue:
    struct = Struct.FromString(base64.b64decode(text.removeprefix(STRUCT_PREFIX)))
    fields: dict[str, Any] = {key: _decode_value(value) for key, value in struct.fields.items()}
    value: PropertyValue = fields.get(_WRAPPED, fields)
    return value


def _decode_value(value: Value) -> Any:
    match value.WhichOneof("kind"):
        case "struct_value":
            return {key: _decode_value(field) for key, field in value.struct_value.fields.items()}
        case "list_value":
            return [_decode_value(item) for item in value.list_value.values]
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() and abs(number) <= _EXACT else number
        case "null_value" | None:
            return None
        case kind:
            return getattr(value, kind)


def _to_any(value: dict[str, Any] | Message) -> str:
    message = AnyMessage()
    if isinstance(value, Message):
        message.Pack(value)
    else:
        message.type_url = value["@type"]
        message.value = base64.b64decode(value["value"])
    return base64.b64encode(message.SerializeToString(deterministic=True)).decode()


def _from_any(text: str) -> dict[str, Any]:
    message = AnyMessage.FromString(base64.b64decode(text))
    return {"@type": message.type_url, "value": base64.b64encode(message.value).decode()}
