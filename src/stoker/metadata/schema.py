# SPDX-License-Identifier: Apache-2.0
"""MLMD's tables, version 10: names, columns, indexes and first rows as ml-metadata makes them."""

import enum
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    insert,
)

VERSION = 10


class TypeKind(enum.IntEnum):
    """What a type is a type of; the numbers are MLMD's."""

    EXECUTION = 0
    ARTIFACT = 1
    CONTEXT = 2


BASE_TYPES: dict[str, TypeKind] = {
    "mlmd.Dataset": TypeKind.ARTIFACT,
    "mlmd.Model": TypeKind.ARTIFACT,
    "mlmd.Metrics": TypeKind.ARTIFACT,
    "mlmd.Statistics": TypeKind.ARTIFACT,
    "mlmd.Train": TypeKind.EXECUTION,
    "mlmd.Transform": TypeKind.EXECUTION,
    "mlmd.Process": TypeKind.EXECUTION,
    "mlmd.Evaluate": TypeKind.EXECUTION,
    "mlmd.Deploy": TypeKind.EXECUTION,
}

_metadata = MetaData()


def _table(name: str, *columns: Column[Any], unique: tuple[str, ...] = ()) -> Table:
    constraints = [UniqueConstraint(*unique)] if unique else []
    # AUTOINCREMENT: an id is never given twice, even after rows were deleted.
    autoincrement = columns[0].name == "id"
    return Table(name, _metadata, *columns, *constraints, sqlite_autoincrement=autoincrement)


def _id() -> Column[int]:
    return Column("id", Integer, primary_key=True)


def _reference(name: str, *, key: bool = False) -> Column[int]:
    return Column(name, Integer, nullable=False, primary_key=key, autoincrement=False)


def _external_id() -> Column[str]:
    return Column("external_id", String(255), unique=True)


def _times() -> tuple[Column[int], Column[int]]:
    names = ("create_time_since_epoch", "last_update_time_since_epoch")
    created, updated = (
        Column(name, BigInteger, nullable=False, server_default="0") for name in names
    )
    return created, updated


def _typed_table(name: str, *columns: Column[Any]) -> Table:
    """A table of what has a type, and a name of its own within that type."""
    first, last = (_id(), _reference("type_id")), (_external_id(), *_times())
    return _table(name, *first, *columns, *last, unique=("type_id", "name"))


def _property_table(name: str, owner: str) -> Table:
    return _table(
        name,
        _reference(owner, key=True),
        Column("name", String(255), primary_key=True),
        Column("is_custom_property", Boolean, primary_key=True),
        Column("int_value", BigInteger),
        Column("double_value", Double),
        Column("string_value", Text),
        Column("byte_value", LargeBinary),
        Column("proto_value", Text),  # BLOB in MLMD, but what it keeps there is base64 text
        Column("bool_value", Boolean),
    )


type_ = _table(
    "Type",
    _id(),
    Column("name", String(255), nullable=False),
    Column("version", String(255)),
    Column("type_kind", SmallInteger, nullable=False),
    Column("description", Text),
    Column("input_type", Text),
    Column("output_type", Text),
    _external_id(),
)
type_property = _table(
    "TypeProperty",
    _reference("type_id", key=True),
    Column("name", String(255), primary_key=True),
    Column("data_type", Integer),
)
parent_type = _table(
    "ParentType", _reference("type_id", key=True), _reference("parent_type_id", key=True)
)
artifact = _typed_table(
    "Artifact",
    Column("uri", Text),
    Column("state", Integer),
    Column("name", String(255)),
)
artifact_property = _property_table("ArtifactProperty", "artifact_id")
execution = _typed_table(
    "Execution",
    Column("last_known_state", Integer),
    Column("name", String(255)),
)
execution_property = _property_table("ExecutionProperty", "execution_id")
context = _typed_table(
    "Context",
    Column("name", String(255), nullable=False),
)
context_property = _property_table("ContextProperty", "context_id")
parent_context = _table(
    "ParentContext",
    _reference("context_id", key=True),
    _reference("parent_context_id", key=True),
)
event = _table(
    "Event",
    _id(),
    _reference("artifact_id"),
    _reference("execution_id"),
    Column("type", Integer, nullable=False),
    Column("milliseconds_since_epoch", BigInteger),
    unique=("artifact_id", "execution_id", "type"),
)
event_path = _table(
    "EventPath",
    _reference("event_id"),
    Column("is_index_step", Boolean, nullable=False),
    Column("step_index", Integer),
    Column("step_key", Text),
    Column("rowid", Integer, system=True),  # SQLite's own; MLMD keeps the order of steps only there
)
association = _table(
    "Association",
    _id(),
    _reference("context_id"),
    _reference("execution_id"),
    unique=("context_id", "execution_id"),
)
attribution = _table(
    "Attribution",
    _id(),
    _reference("context_id"),
    _reference("artifact_id"),
    unique=("context_id", "artifact_id"),
)
environment = _table(
    "MLMDEnv", Column("schema_version", Integer, primary_key=True, autoincrement=False)
)


def _index(name: str, table: Table, *columns: str, filled: str | None = None) -> None:
    where = table.c[filled].is_not(None) if filled else None
    Index(
        f"idx_{name}",
        *(table.c[column] for column in columns),
        sqlite_where=where,
        postgresql_where=where,
    )


for _name, _of in {"artifact": artifact, "execution": execution, "context": context}.items():
    for _column in ("external_id", "create_time_since_epoch", "last_update_time_since_epoch"):
        _index(f"{_name}_{_column}", _of, _column)
for _name, _of in {
    "artifact_property": artifact_property,
    "execution_property": execution_property,
    "context_property": context_property,
}.items():
    for _kind in ("int", "double", "string"):
        _value = f"{_kind}_value"
        _index(f"{_name}_{_kind}", _of, "name", "is_custom_property", _value, filled=_value)
_index("artifact_uri", artifact, "uri")
_index("event_execution_id", event, "execution_id")
_index("eventpath_event_id", event_path, "event_id")
_index("parentcontext_parent_context_id", parent_context, "parent_context_id")
_index("type_external_id", type_, "external_id")
_index("type_name", type_, "name")


def create(connection: Connection) -> None:
    """Make the tables, their indexes and MLMD's first rows in an empty database."""
    _metadata.create_all(connection, checkfirst=False)
    connection.execute(
        insert(type_), [{"name": name, "type_kind": kind} for name, kind in BASE_TYPES.items()]
    )
    connection.execute(insert(environment).values(schema_version=VERSION))
