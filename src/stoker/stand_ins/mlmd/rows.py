# SPDX-License-Identifier: Apache-2.0
"""ML Metadata's messages become rows, and rows messages, inside a transaction of the store's."""

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from google.protobuf import json_format
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.struct_pb2 import Struct
from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from stoker.dsl.proto import metadata_store_pb2 as pb
from stoker.metadata import schema as db
from stoker.metadata.load import read_paths
from stoker.metadata.values import COLUMNS, STRUCT_PREFIX
from stoker.metadata.write import insert_row, insert_rows, make_steps, make_times
from stoker.stand_ins.mlmd.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
)
from stoker.stand_ins.mlmd.nodes import EXECUTION, NodeKind

_VALUE_FIELDS = {
    pb.INT: "int_value",
    pb.DOUBLE: "double_value",
    pb.STRING: "string_value",
    pb.STRUCT: "struct_value",
    pb.PROTO: "proto_value",
    pb.BOOLEAN: "bool_value",
}
_TYPE_TEXTS = ("version", "description", "external_id")
_SIGNATURES = ("input_type", "output_type")


# Types


def read_types(connection: Connection, kind: NodeKind, *conditions: Any) -> list[Any]:
    """The types of one kind of node that fit, but for MLMD's own."""
    table = db.type_
    rows = connection.execute(
        select(table)
        .where(table.c.type_kind == kind.type_kind, table.c.name.not_in(db.BASE_TYPES))
        .where(*conditions)
        .order_by(table.c.id)
    ).all()
    found = {row.id: _read_type(kind, row) for row in rows}
    declared = db.type_property
    for row in connection.execute(select(declared).where(declared.c.type_id.in_(found))):
        found[row.type_id].properties[row.name] = row.data_type
    for type_id, base in _read_base_types(connection, found).items():
        found[type_id].base_type = found[type_id].SystemDefinedBaseType.Value(base)
    return list(found.values())


def _read_type(kind: NodeKind, row: Any) -> Any:
    message: Any = kind.type_message(id=row.id, name=row.name)
    for field in _TYPE_TEXTS:
        if (text := getattr(row, field)) is not None:
            setattr(message, field, text)
    for field in _SIGNATURES if kind is EXECUTION else ():
        if text := getattr(row, field):
            json_format.Parse(text, getattr(message, field))
    return message


def _read_base_types(connection: Connection, types: Collection[int]) -> dict[int, str]:
    """The base type's name for each type that has one."""
    parents = (
        select(db.parent_type.c.type_id, db.type_.c.name)
        .join(db.type_, db.type_.c.id == db.parent_type.c.parent_type_id)
        .where(db.parent_type.c.type_id.in_(types))
    )
    return {
        row.type_id: row.name.removeprefix("mlmd.").upper() for row in connection.execute(parents)
    }


def put_type(
    connection: Connection, kind: NodeKind, wanted: Any, *, can_add: bool, can_omit: bool
) -> int:
    """The id of a type, which is inserted if it is new, and else must be what is there."""
    if not wanted.name:
        raise InvalidArgumentError(f"A type of {kind.name}s needs a name.")
    if pb.UNKNOWN in wanted.properties.values():
        raise InvalidArgumentError(
            f"A property of the type {wanted.name} is UNKNOWN: give it a type, such as INT."
        )
    table = db.type_
    version = table.c.version.is_(None)
    if wanted.HasField("version"):
        version = table.c.version == wanted.version
    known = read_types(connection, kind, table.c.name == wanted.name, version)
    if known:
        _compare_types(known[0], wanted, can_add=can_add, can_omit=can_omit)
    type_id = known[0].id if known else _insert_type(connection, kind, wanted)
    declared = known[0].properties if known else {}
    insert_rows(
        connection,
        db.type_property,
        [
            {"type_id": type_id, "name": name, "data_type": data_type}
            for name, data_type in wanted.properties.items()
            if name not in declared
        ],
    )
    return int(type_id)


def _compare_types(known: Any, wanted: Any, *, can_add: bool, can_omit: bool) -> None:
    for name, data_type in known.properties.items():
        if name not in wanted.properties and not can_omit:
            raise AlreadyExistsError(
                f"The type {known.name} is there with a property {name!r} that is not given: "
                "pass can_omit_fields=True, or give it."
            )
        if wanted.properties.get(name, data_type) != data_type:
            raise AlreadyExistsError(
                f"The property {name!r} of {known.name} is {pb.PropertyType.Name(data_type)} in "
                "the store: give the property or the type another name."
            )
    new = sorted(set(wanted.properties) - set(known.properties))
    if new and not can_add:
        raise AlreadyExistsError(
            f"The type {known.name} is there without {', '.join(new)}: pass can_add_fields=True."
        )
    if wanted.base_type and known.base_type and wanted.base_type != known.base_type:
        raise AlreadyExistsError(
            f"The type {known.name} is there with another base type: give it another name."
        )


def _insert_type(connection: Connection, kind: NodeKind, wanted: Any) -> int:
    values = {name: getattr(wanted, name) for name in _TYPE_TEXTS if wanted.HasField(name)}
    for name in _SIGNATURES if kind is EXECUTION else ():
        if wanted.HasField(name):
            values[name] = json_format.MessageToJson(getattr(wanted, name), indent=None)
    values |= {"name": wanted.name, "type_kind": kind.type_kind}
    type_id = insert_row(connection, db.type_, **values)
    if wanted.base_type:
        base = f"mlmd.{wanted.SystemDefinedBaseType.Name(wanted.base_type).capitalize()}"
        parent = select(db.type_.c.id).where(db.type_.c.name == base).scalar_subquery()
        connection.execute(insert(db.parent_type).values(type_id=type_id, parent_type_id=parent))
    return type_id


# Nodes


def read_nodes(
    connection: Connection,
    kind: NodeKind,
    conditions: Iterable[ColumnElement[bool]],
    order: Any = (),
) -> list[Any]:
    """The artifacts, executions or contexts that fit, with their properties."""
    table = kind.table
    order_by, limit = order or ((table.c.id,), None)
    rows = connection.execute(
        select(table, db.type_.c.name.label("type"))
        .join(db.type_, db.type_.c.id == table.c.type_id)
        .where(*conditions)
        .order_by(*order_by)
        .limit(limit)
    ).all()
    found = {row.id: _read_node(kind, row) for row in rows}
    properties = kind.properties
    for row in connection.execute(select(properties).where(properties.c[0].in_(found))):
        owner = found[row[0]]
        target = owner.custom_properties if row.is_custom_property else owner.properties
        _fill_value(target[row.name], row)
    return list(found.values())


def _read_node(kind: NodeKind, row: Any) -> Any:
    return kind.message(
        **{name: value for name, value in row._asdict().items() if value is not None}
    )


def put_node(connection: Connection, kind: NodeKind, node: Any, mask: Collection[str] = ()) -> int:
    """Insert a node, or write over the one with its id: all of it, or what `mask` names."""
    known = _find_node(connection, kind, node) if node.HasField("id") else None
    type_id = known.type_id if known else node.type_id
    declared = _read_declared(connection, kind, node, type_id)
    for name, value in node.properties.items():
        _check_value(kind, name, value, declared)
    if known:
        _update_node(connection, kind, node, mask)
        return int(node.id)
    values = {name: getattr(node, name) for name in kind.fields if node.HasField(name)}
    if "uri" in kind.fields:
        values.setdefault("uri", "")
    if node.name:
        values["name"] = node.name
    elif "name" in kind.fields:
        raise InvalidArgumentError(f"A {kind.name} needs a name.")
    node_id = insert_row(connection, kind.table, type_id=type_id, **values, **make_times())
    _write_properties(connection, kind, node_id, node)
    return node_id


def _find_node(connection: Connection, kind: NodeKind, node: Any) -> Any:
    table = kind.table
    found = connection.execute(select(table).where(table.c.id == node.id)).first()
    if found is None:
        raise InvalidArgumentError(
            f"There is no {kind.name} with the id {node.id}: leave the id out for a new one."
        )
    if node.HasField("type_id") and node.type_id != found.type_id:
        raise InvalidArgumentError(
            f"The {kind.name} {node.id} has to keep its type {found.type_id}, got {node.type_id}."
        )
    return found


def _read_declared(
    connection: Connection, kind: NodeKind, node: Any, type_id: int
) -> Mapping[str, int]:
    if not type_id:
        raise InvalidArgumentError(f"A {kind.name} needs a type_id: {_one_line(node)}")
    table = db.type_
    if not (found := read_types(connection, kind, table.c.id == type_id)):
        raise NotFoundError(
            f"There is no type of {kind.name}s with the id {type_id}: put it first."
        )
    properties: Mapping[str, int] = found[0].properties
    return properties


def _check_value(kind: NodeKind, name: str, value: Any, declared: Mapping[str, int]) -> None:
    if name not in declared:
        raise InvalidArgumentError(
            f"The property {name!r} is not declared by the type of this {kind.name}: declare it, "
            "or write it to custom_properties."
        )
    field = _VALUE_FIELDS[declared[name]]  # type: ignore[index]
    if value.WhichOneof("value") not in (field, None):
        raise InvalidArgumentError(f"The property {name!r} takes {field}, got {_one_line(value)}.")


def _update_node(connection: Connection, kind: NodeKind, node: Any, mask: Collection[str]) -> None:
    table = kind.table
    empty = {"uri": ""}
    values = {
        name: getattr(node, name) if node.HasField(name) else empty.get(name)
        for name in kind.fields
        if not mask or name in mask
    }
    values["last_update_time_since_epoch"] = make_times()["last_update_time_since_epoch"]
    connection.execute(update(table).where(table.c.id == node.id).values(values))
    _write_properties(connection, kind, node.id, node, mask)


def _write_properties(
    connection: Connection, kind: NodeKind, node_id: int, node: Any, mask: Collection[str] = ()
) -> None:
    table = kind.properties
    for custom, field in ((False, "properties"), (True, "custom_properties")):
        values = getattr(node, field)
        named = {path.partition(".")[2] for path in mask if path.startswith(f"{field}.")}
        whole = not mask or field in mask
        old = delete(table).where(table.c[0] == node_id, table.c.is_custom_property == custom)
        connection.execute(old if whole else old.where(table.c.name.in_(named)))
        insert_rows(
            connection,
            table,
            [
                {
                    kind.owner: node_id,
                    "name": name,
                    "is_custom_property": custom,
                    **_make_columns(value),
                }
                for name, value in values.items()
                if whole or name in named
            ],
        )


def _make_columns(value: Any) -> dict[str, Any]:
    columns = dict.fromkeys(COLUMNS)
    match value.WhichOneof("value"):
        case "struct_value":
            data = value.struct_value.SerializeToString(deterministic=True)
            columns["string_value"] = STRUCT_PREFIX + base64.b64encode(data).decode()
        case "proto_value":
            data = value.proto_value.SerializeToString(deterministic=True)
            columns["proto_value"] = base64.b64encode(data).decode()
        case str() as field:
            columns[field] = getattr(value, field)
    return columns


def _fill_value(value: Any, row: Any) -> None:
    if (text := row.string_value) is not None and text.startswith(STRUCT_PREFIX):
        data = base64.b64decode(text.removeprefix(STRUCT_PREFIX))
        value.struct_value.CopyFrom(Struct.FromString(data))
    elif row.proto_value is not None:
        value.proto_value.CopyFrom(AnyMessage.FromString(base64.b64decode(row.proto_value)))
    else:
        for field in ("int_value", "double_value", "string_value", "bool_value"):
            if (found := getattr(row, field)) is not None:
                setattr(value, field, found)


# Between nodes


def read_events(connection: Connection, condition: Any) -> list[Any]:
    """The events that fit, with their paths."""
    table = db.event
    rows = connection.execute(select(table).where(condition).order_by(table.c.id)).all()
    paths = read_paths(connection, [row.id for row in rows])
    return [_read_event(row, paths.get(row.id, ())) for row in rows]


def _read_event(row: Any, path: Sequence[str | int]) -> Any:
    event = pb.Event(
        artifact_id=row.artifact_id,
        execution_id=row.execution_id,
        type=row.type,
        milliseconds_since_epoch=row.milliseconds_since_epoch,
    )
    for step in path:
        event.path.steps.add(**({"index": step} if isinstance(step, int) else {"key": step}))
    return event


def put_event(connection: Connection, event: Any) -> None:
    """Insert an event between an artifact and an execution that are there."""
    if not event.type:
        raise InvalidArgumentError(f"An event needs a type: {_one_line(event)}")
    check_reference(connection, db.artifact, event, "artifact_id")
    check_reference(connection, db.execution, event, "execution_id")
    now = make_times()["create_time_since_epoch"]
    event_id = insert_row(
        connection,
        db.event,
        artifact_id=event.artifact_id,
        execution_id=event.execution_id,
        type=event.type,
        milliseconds_since_epoch=event.milliseconds_since_epoch or now,
    )
    # The order of rows is the order of steps.
    steps = [getattr(step, step.WhichOneof("value") or "key") for step in event.path.steps]
    insert_rows(connection, db.event_path, make_steps(connection, event_id, steps))


def check_reference(connection: Connection, table: Any, message: Any, field: str) -> None:
    """Refuse a message that names a node which is not there."""
    wanted = getattr(message, field)
    if connection.scalar(select(table.c.id).where(table.c.id == wanted)) is None:
        raise InvalidArgumentError(
            f"There is no {table.name.lower()} with the {field} {wanted}: {_one_line(message)}"
        )


def _one_line(message: Any) -> str:
    return " ".join(str(message).split())
