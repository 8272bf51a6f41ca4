# SPDX-License-Identifier: Apache-2.0
"""MLMD's tables, version 10: names, columns, indexes and first rows as ml-metadata makes them.

On servers they are a little wider than those of ml-metadata, which reads and writes them as its
own: numbers have 64 bits, text is in Unicode and compared exactly, and what PostgreSQL keeps of a
long text in an index is its beginning.
"""

import base64
import enum
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Dialect,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    func,
    insert,
    quoted_name,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

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

INDEXED_CHARACTERS = 255
"""How much of a long text servers keep in an index."""
_SAY = "said to servers"
"""Options of servers' own, which are given at last: to name one imports all of its dialect."""
_MYSQL_TABLES = {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_bin"}
_MEDIUM = 2**24 - 1
"""With this length, MySQL makes a MEDIUMTEXT or MEDIUMBLOB, as ml-metadata does."""

_metadata = MetaData()


class _TextAsBytes(TypeDecorator[str]):
    """Text in a column of bytes."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002
        return value.encode() if isinstance(value, str) else value  # a BLOB of ml-metadata's

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else bytes(value).decode()


class _Base64AsBytes(TypeDecorator[str]):
    """Bytes that are in base64 for us."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | bytes | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002
        return None if value is None else base64.b64decode(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else base64.b64encode(value).decode()


def _table(name: str, *columns: Column[Any], unique: tuple[str, ...] = ()) -> Table:
    constraints = [UniqueConstraint(*unique)] if unique else []
    # AUTOINCREMENT: an id is never given twice, even after rows were deleted.
    autoincrement = columns[0].name == "id"
    return Table(
        # PostgreSQL folds names that are not quoted to lower case, as ml-metadata's are.
        quoted_name(name, quote=False),
        _metadata,
        *columns,
        *constraints,
        sqlite_autoincrement=autoincrement,
        info={_SAY: {"mysql": _MYSQL_TABLES}},
    )


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
        Column("string_value", Text().with_variant(Text(_MEDIUM), "mysql")),
        Column("byte_value", LargeBinary().with_variant(LargeBinary(_MEDIUM), "mysql")),
        # BLOB in MLMD, but what it keeps there is base64 text, and only in PostgreSQL the bytes
        # themselves; SQLite tells text from bytes.
        Column(
            "proto_value",
            Text()
            .with_variant(_Base64AsBytes(), "postgresql")
            .with_variant(_TextAsBytes(_MEDIUM), "mysql"),
        ),
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
    found = [table.c[column] for column in columns]
    lengths = {one.name: INDEXED_CHARACTERS for one in found if isinstance(one.type, Text)}
    info = {_SAY: {"postgresql": {"where": where}, "mysql": {"length": lengths}}}
    if filled not in lengths:
        Index(f"idx_{name}", *found, sqlite_where=where, info=info)
        return
    # What PostgreSQL takes into an index must fit on a third of a page, and it asks no length.
    begins = [one if one.name != filled else begin_of(one) for one in found]
    Index(f"idx_{name}", *begins, info=info).ddl_if(dialect="postgresql")
    others = Index(f"idx_{name}", *found, sqlite_where=where, info=info)
    others.ddl_if(callable_=_is_not_postgresql)


def _is_not_postgresql(*_: Any, dialect: Dialect, **__: Any) -> bool:
    return dialect.name != "postgresql"


def begin_of(column: Column[Any]) -> Any:
    """What PostgreSQL keeps of a text in an index."""
    return func.left(column, INDEXED_CHARACTERS)


class is_text(FunctionElement[bool]):  # noqa: N801
    """Whether a column is some text, asked so that the database's index knows."""

    name = "is_text"
    type = Boolean()
    inherit_cache = True


@compiles(is_text)
def _ask_for_text(element: is_text, compiler: Any, **options: Any) -> str:
    column, text = (compiler.process(one, **options) for one in element.clauses)
    return f"{column} = {text}"


@compiles(is_text, "postgresql")
def _ask_for_begin_too(element: is_text, compiler: Any, **options: Any) -> str:
    column, text = (compiler.process(one, **options) for one in element.clauses)
    begins = f"left({column}, {INDEXED_CHARACTERS}) = left({text}, {INDEXED_CHARACTERS})"
    return f"({begins} AND {column} = {text})"


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
    """Make the tables, their indexes and MLMD's first rows in an empty database.

    MySQL cannot take tables back, so that another process may have died at the same: then what is
    not yet there is made.
    """
    dialect = connection.dialect.name
    for table in list_tables():
        items: list[Any] = [table, *table.indexes]
        for one in items:
            for option, value in one.info.get(_SAY, {}).get(dialect, {}).items():
                one.dialect_kwargs[f"{dialect}_{option}"] = value
    _metadata.create_all(connection, checkfirst=dialect == "mysql")
    add_first_rows(connection)


def add_first_rows(connection: Connection) -> None:
    """Add what MLMD has in new tables; their version is the last to be written."""
    add_base_types(connection)
    connection.execute(insert(environment).values(schema_version=VERSION))


def add_base_types(connection: Connection) -> None:
    """Add the types that others are based on, as far as they are not there."""
    known = set(connection.scalars(select(type_.c.name)))
    new = [{"name": name, "type_kind": kind} for name, kind in BASE_TYPES.items()]
    if missing := [one for one in new if one["name"] not in known]:
        connection.execute(insert(type_), missing)


def list_tables() -> Sequence[Table]:
    """All tables."""
    return _metadata.sorted_tables
