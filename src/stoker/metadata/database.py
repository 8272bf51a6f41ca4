# SPDX-License-Identifier: Apache-2.0
"""The database under the store: opened, created, checked, and used in short transactions."""

import contextlib
import os
import sqlite3
import urllib.parse
from collections.abc import Iterator
from shlex import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from stoker.errors import StoreError
from stoker.metadata import schema
from stoker.metadata.config import StoreConfig

_BUSY_SECONDS = 60
_LOOKING_SECONDS = 2
"""A page that says that the store is busy is better than one that does not come."""
_OTHER_FILE = "name another file in metadata_connection_config"
_SET_ASIDE = "set it aside, so that the next run begins a new one:"
_NEXT_MOVES = {
    "file is not a database": f"It is not an SQLite file: {_OTHER_FILE}, or {_SET_ASIDE}",
    "unable to open": "Check that it is a file, and that you may write to it and its directory.",
    "readonly": f"Make the file and its directory writable, or {_OTHER_FILE}.",
    "locked": "Another process keeps it locked: end that process, and retry.",
    "full": "Free some space, and retry.",
    "disk image is malformed": f"The file is damaged: restore it from a copy, or {_SET_ASIDE}",
}


class Database:
    """An open metadata database of MLMD's schema; an empty one gets its tables.

    One that is opened to look on is not changed, and asked anew for each transaction: its file may
    be removed and made again meanwhile.
    """

    def __init__(self, config: StoreConfig, *, looks_on: bool = False) -> None:
        self._place = config.place
        self._engine = _sqlite_to_look_on(config.path) if looks_on else _sqlite(config.path)
        try:
            if not looks_on:
                self._prepare()
        except StoreError:
            self.close()
            raise
        if not looks_on and os.access(config.path, os.W_OK):
            _use_write_ahead_log(self._engine)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @contextlib.contextmanager
    def connect_to_read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the store from beginning to end."""
        with self._explain_errors(), self._engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def connect_to_write(self) -> Iterator[Connection]:
        """A transaction that is committed at the end, or leaves nothing behind."""
        writer = self._engine.execution_options(stoker_writes=True)
        with self._explain_errors(), writer.begin() as connection:
            yield connection

    def _prepare(self) -> None:
        with self.connect_to_read() as connection:
            found = self._version(connection)
        if found is None:
            with self.connect_to_write() as connection:
                found = self._version(connection)  # another process may have been faster
                if found is None:
                    schema.create(connection)
                    return
        if found != schema.VERSION:
            raise StoreError(
                f"The metadata store at {self._place} has MLMD schema version {found}, and this "
                f"version of Stoker works with {schema.VERSION}. Bring it to {schema.VERSION} with "
                f"ml-metadata (enable_upgrade_migration=True), or {_OTHER_FILE}."
            )

    def _version(self, connection: Connection) -> int | None:
        """The schema version, or None in an empty database."""
        tables = inspect(connection).get_table_names()
        if not tables:
            return None
        if schema.environment.name not in tables:
            raise StoreError(
                f"The database at {self._place} is not a metadata store: it has the tables "
                f"{', '.join(sorted(tables)[:5])}, but no MLMDEnv. For a new store, {_OTHER_FILE}."
            )
        return connection.execute(select(schema.environment.c.schema_version)).scalar() or 0

    @contextlib.contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            reason = str(error.orig)
            moves = [move for sign, move in _NEXT_MOVES.items() if sign in reason]
            if moves and moves[-1].endswith(_SET_ASIDE):
                moves.append(f"mv {quote(self._place)} {quote(f'{self._place}.damaged')}")
            raise StoreError(
                " ".join([f"The metadata store at {self._place} failed: {reason}.", *moves])
            ) from error


def _sqlite(path: str) -> Engine:
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The metadata store at {path} cannot be made: {error}. Make its directory, or "
            f"{_OTHER_FILE}."
        ) from error
    with contextlib.suppress(OSError):  # which SQLite will tell
        # SQLite itself would keep a new file from the group, whatever the umask says.
        os.close(os.open(path, os.O_CREAT | os.O_RDONLY, 0o666))
    engine = create_engine(
        _locate(path),
        # isolation_level None: transactions begin where `_begin` says, not where sqlite3 guesses.
        connect_args={"timeout": _BUSY_SECONDS, "isolation_level": None},
    )
    event.listen(engine, "begin", _begin)
    return engine


def _sqlite_to_look_on(path: str) -> Engine:
    engine = create_engine(
        _locate(path) if os.path.exists(path) and not os.access(path, os.W_OK) else _name(path),
        poolclass=NullPool,
        connect_args={"timeout": _LOOKING_SECONDS, "isolation_level": None},
    )
    event.listen(engine, "begin", _begin_to_look)
    return engine


def _begin_to_look(connection: Connection) -> None:
    """Let nothing but a short note of the user's be written."""
    writes = connection.get_execution_options().get("stoker_writes", False)
    connection.exec_driver_sql(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")
    _begin(connection)


def _locate(path: str) -> URL:
    """A file's URL; for who may only read it, so that SQLite does not try to write beside it."""
    if not os.path.exists(path) or os.access(path, os.W_OK):
        return URL.create("sqlite", database=path)
    # Without a log, nobody is writing to it.
    unchanged = {} if os.path.exists(f"{path}-wal") else {"immutable": "1"}
    return _name(path, mode="ro", **unchanged)


def _name(path: str, mode: str = "rw", **more: str) -> URL:
    """A file that is there already."""
    where = f"file:{urllib.parse.quote(path)}"
    return URL.create("sqlite", database=where, query={"uri": "true", "mode": mode, **more})


def _begin(connection: Connection) -> None:
    """Take the write lock at once: two writers then wait for each other and never deadlock."""
    writes = connection.get_execution_options().get("stoker_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _use_write_ahead_log(engine: Engine) -> None:
    """Let readers go on while one writes; the mode stays with the file."""
    connection = engine.raw_connection()
    # Refused while another process is at the same, and in a directory that is read-only. The store
    # works without it, and whoever opens the file next asks again.
    with contextlib.closing(connection), contextlib.suppress(sqlite3.OperationalError):
        connection.cursor().execute("PRAGMA journal_mode = WAL")
