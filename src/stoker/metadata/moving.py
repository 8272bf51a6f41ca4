# SPDX-License-Identifier: Apache-2.0
"""A store moves: to another database with all its ids, or to the schema version of today.

Both are one copy, table by table, in one transaction, from a store that nobody writes to meanwhile;
columns that an older schema lacks stay empty. So nothing is changed in place, and what was is there
until the copy is whole.
"""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Table, delete, func, inspect, select, text

from stoker.errors import StoreError
from stoker.metadata import load, schema, write
from stoker.metadata.config import StoreConfig, sqlite_metadata_connection_config
from stoker.metadata.database import Database
from stoker.metadata.standings import run_state
from stoker.metadata.store import Store
from stoker.metadata.values import encode

OLDEST = 6
"""The schema version of the first TFX 1.x."""
_BATCH = 1_000
_OWN_ROWS = {schema.environment.name, schema.event_path.name}
"""Tables whose rows are not copied as they are."""
_PROPERTY_TABLES = {
    table.name
    for table in (schema.artifact_property, schema.execution_property, schema.context_property)
}

Tell = Callable[[str], None]


def migrate(source: StoreConfig, target: StoreConfig, tell: Tell) -> Mapping[str, int]:
    """Copy a store into an empty database; gives how many rows each table has."""
    if not source.exists():
        raise StoreError(f"There is no store {source.place}. Check the name.")
    with _hold(source) as (old, version):
        _require_known(version, source)
        _require_rest(source, version)
        with (
            contextlib.closing(Database(target)) as database,
            database.connect_to_write() as new,
        ):
            _require_empty(new, target)
            return _copy(old, new, tell)


def upgrade_file(config: StoreConfig, tell: Tell) -> str:
    """Bring a file to the schema version of today; gives where its copy of before is.

    An empty answer says that there is nothing to do.
    """
    path, draft = config.path, f"{config.path}.upgrading"
    with _hold(config) as (old, version):
        _require_known(version, config)
        if version == schema.VERSION:
            return ""
        backup = _find_free(f"{path}.schema-{version}")
        _back_up(path, backup)
        for left in (draft, f"{draft}-wal", f"{draft}-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(left)
        with (
            contextlib.closing(Database(sqlite_metadata_connection_config(draft))) as database,
            database.connect_to_write() as new,
        ):
            _copy(old, new, tell)
        shutil.copymode(path, draft)
        os.replace(draft, path)
    for beside in (f"{path}-wal", f"{path}-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
    return backup


def widen(config: StoreConfig) -> bool:
    """Give a server's tables that ml-metadata made the room that ours have; False if they have it.

    ml-metadata goes on with them.
    """
    with (
        contextlib.closing(Database(config, must_exist=True)) as database,
        database.connect_to_write() as connection,
    ):
        if not _is_narrow(connection):
            return False
        for statement in _list_widenings(connection.dialect.name):
            connection.execute(text(statement))
        return True


def _is_narrow(connection: Connection) -> bool:
    postgres = connection.dialect.name == "postgresql"
    name = schema.execution_property.name
    columns = inspect(connection).get_columns(name.lower() if postgres else name)
    kinds = {column["name"]: str(column["type"]) for column in columns}
    return "BIGINT" not in kinds["int_value"]


def _list_widenings(dialect: str) -> Iterator[str]:
    for name in sorted(_PROPERTY_TABLES):
        if dialect == "mysql":
            yield f"ALTER TABLE {name} MODIFY int_value BIGINT"
            continue
        kind = name.removesuffix("Property").lower()
        index = f"idx_{kind}_property_string"
        columns = f"name, is_custom_property, left(string_value, {schema.INDEXED_CHARACTERS})"
        yield f"ALTER TABLE {name} ALTER COLUMN int_value TYPE BIGINT"
        yield f"DROP INDEX IF EXISTS {index}"
        yield f"CREATE INDEX {index} ON {name} ({columns}) WHERE string_value IS NOT NULL"
    for table in schema.list_tables() if dialect == "mysql" else ():
        yield f"ALTER TABLE {table.name} CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"


@contextlib.contextmanager
def _hold(config: StoreConfig) -> Iterator[tuple[Connection, int]]:
    """A store that nobody writes to meanwhile, and its schema version."""
    with contextlib.closing(Database(config, looks_on=True)) as database:
        with database.connect_to_read() as connection:
            version = database.find_version(connection)
        if version is None:
            raise StoreError(
                f"The database at {config.place} is empty: nothing is to be moved. Check the name."
            )
        with database.connect_to_write() as connection:
            yield connection, version


def _require_known(version: int, config: StoreConfig) -> None:
    if not OLDEST <= version <= schema.VERSION:
        newest = "a newer Stoker" if version > schema.VERSION else "ml-metadata 1.17"
        raise StoreError(
            f"The metadata store at {config.place} has MLMD schema version {version}; Stoker "
            f"brings {OLDEST} to {schema.VERSION - 1} up to date. Open it with {newest} first."
        )


def _require_rest(config: StoreConfig, version: int) -> None:
    if version != schema.VERSION:
        return  # Stoker has not written to it
    with contextlib.closing(Store(config, looks_on=True)) as store:
        alive = [run.run_id for run in store.runs() if run_state(run) == "running"]
    if alive:
        raise StoreError(
            f"Run {alive[0]} is at work in {config.place}. Move the store when it has ended."
        )


def _require_empty(connection: Connection, config: StoreConfig) -> None:
    for table in (schema.execution, schema.artifact, schema.context):
        if count := _count(connection, table):
            raise StoreError(
                f"{config.place} is in use: it has {count} rows in {table.name}. Move the store "
                "into an empty database, so that all ids stay."
            )


def _copy(old: Connection, new: Connection, tell: Tell) -> dict[str, int]:
    _require_single_events(old)
    new.execute(delete(schema.type_))  # theirs have other ids
    copied: dict[str, int] = {}
    for table in schema.list_tables():
        if table.name in _OWN_ROWS:
            continue
        copied[table.name] = _copy_table(old, new, table)
        if "id" in table.c and copied[table.name]:
            write.count_on(new, table)
    copied[schema.event_path.name] = _copy_paths(old, new)
    schema.add_base_types(new)
    for name, count in copied.items():
        table = next(one for one in schema.list_tables() if one.name == name)
        if table is not schema.type_ and count != _count(new, table):
            raise StoreError(
                f"The copy has {_count(new, table)} rows in {name}, of {count}: retry."
            )
        tell(f"{name}: {count}")
    return copied


def _copy_table(old: Connection, new: Connection, table: Table) -> int:
    there = _list_columns(old, table)
    columns = [column for column in table.c if column.name in there]
    wanted = select(*columns).order_by(*table.primary_key.columns)
    count = 0
    for rows in old.execute(wanted).partitions(_BATCH):
        write.insert_rows(new, table, [_clean(table, row._mapping) for row in rows])
        count += len(rows)
    return count


def _clean(table: Table, row: Mapping[Any, Any]) -> dict[str, Any]:
    values = {str(name): value for name, value in row.items()}
    text_ = values.get("string_value") if table.name in _PROPERTY_TABLES else None
    if text_ and "\0" in text_:  # which PostgreSQL has no room for
        values |= encode(values["name"], text_)
    return values


def _copy_paths(old: Connection, new: Connection) -> int:
    count = 0
    events = select(schema.event.c.id).order_by(schema.event.c.id)
    for ids in old.scalars(events).partitions(_BATCH):
        paths = load.read_paths(old, ids)
        steps = [
            step
            for event_id in ids
            for step in write.make_steps(new, event_id, paths.get(event_id, ()))
        ]
        write.insert_rows(new, schema.event_path, steps)
        count += len(steps)
    return count


def _require_single_events(connection: Connection) -> None:
    """Before version 8, an event could be recorded twice."""
    table = schema.event
    key = table.c.artifact_id, table.c.execution_id, table.c.type
    twice = select(*key).group_by(*key).having(func.count() > 1).limit(1)
    if found := connection.execute(twice).first():
        artifact, execution, kind = found
        raise StoreError(
            f"The store records the event of type {kind} between artifact {artifact} and execution "
            f"{execution} twice, which MLMD allows no more. Delete one of them from Event."
        )


def _list_columns(connection: Connection, table: Table) -> set[str]:
    return set(connection.execute(text(f"SELECT * FROM {table.name} LIMIT 0")).keys())


def _count(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0


def _back_up(path: str, backup: str) -> None:
    """A whole copy, with what is still in the file's log."""
    with (
        contextlib.closing(sqlite3.connect(path)) as source,
        contextlib.closing(sqlite3.connect(backup)) as target,
    ):
        source.backup(target)
    shutil.copymode(path, backup)


def _find_free(path: str) -> str:
    names = [path, *(f"{path}.{number}" for number in range(2, 1000))]
    return next(name for name in names if not os.path.exists(name))
