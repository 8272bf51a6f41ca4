# SPDX-License-Identifier: Apache-2.0
"""The database under the store: opened, created, checked, and used in short transactions."""

import contextlib
import os
import sqlite3
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from shlex import quote
from typing import TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, select
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import NullPool

from stoker.errors import StoreError, StoreLost
from stoker.metadata import schema
from stoker.metadata.config import StoreConfig

_BUSY_SECONDS = 60
_LOOKING_SECONDS = 2
"""A page that says that the store is busy is better than one that does not come."""
_SHORT_PATIENCE_SECONDS = 10
_SILENCE_SECONDS = 8
"""A server that is stopped keeps its sockets open: nothing breaks, and nothing is answered."""
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 5
_MOST_CONFLICTS = 10
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


T = TypeVar("T")


class Database:
    """An open metadata database of MLMD's schema; an empty one gets its tables.

    One that is opened to look on is not changed, and asked anew for each transaction: its file may
    be removed and made again meanwhile. One that must exist gets no tables.
    """

    def __init__(
        self, config: StoreConfig, *, looks_on: bool = False, must_exist: bool = False
    ) -> None:
        self._config = config
        self._place = config.place
        self.is_file = config.is_file
        self.patience_seconds: float = _SHORT_PATIENCE_SECONDS
        self.tell: Callable[[str], None] = lambda _: None
        """Who is told that the store is waited for."""
        if config.is_file:
            self._engine = _sqlite_to_look_on(config.path) if looks_on else _sqlite(config.path)
            self._reader = self._engine
        else:
            from stoker.metadata import server  # no module of a local store

            self._engine = server.make_engine(config)
            self._reader = server.only_reads(self._engine)
        try:
            if not looks_on:
                self._prepare(must_exist=must_exist)
        except StoreError:
            self.close()
            raise
        if config.is_file and not looks_on and os.access(config.path, os.W_OK):
            _use_write_ahead_log(self._engine)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @contextlib.contextmanager
    def connect_to_read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the store from beginning to end."""
        with self._explain_errors(), self._reader.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def connect_to_write(self) -> Iterator[Connection]:
        """A transaction that is committed at the end, or leaves nothing behind."""
        writer = self._engine.execution_options(stoker_writes=True)
        with self._explain_errors(), writer.begin() as connection:
            yield connection

    def insist(self, act: Callable[[], T], *, briefly: bool = False) -> T:
        """Do what may be done twice, once more for each time that its server is lost meanwhile."""
        began = time.monotonic()
        patience = _SHORT_PATIENCE_SECONDS if briefly else self.patience_seconds
        pause, conflicts = _FIRST_PAUSE_SECONDS, 0
        with self._tell_of_silence() as tell:
            while True:
                try:
                    return act()
                except StoreLost as lost:
                    conflicts += isinstance(lost.__cause__, IntegrityError)
                    waited = time.monotonic() - began
                    if waited > patience or conflicts > _MOST_CONFLICTS:
                        raise StoreError(
                            f"{lost} It was asked for {waited:.0f} s: try again."
                        ) from lost
                    if waited > 1 and not conflicts:
                        tell()
                    time.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    @contextlib.contextmanager
    def _tell_of_silence(self) -> Iterator[Callable[[], None]]:
        """Tell once that the store is waited for, when asked to or after a while; then, its end."""
        told = threading.Event()

        def tell() -> None:
            if not told.is_set():
                told.set()
                self.tell(f"the metadata store at {self._place} does not answer; waiting…")

        timer = threading.Timer(_SILENCE_SECONDS, tell)
        timer.daemon = True
        if not self.is_file:
            timer.start()
        try:
            yield tell
            if told.is_set():
                self.tell(f"the metadata store at {self._place} answers again")
        finally:
            timer.cancel()

    def _prepare(self, *, must_exist: bool) -> None:
        with self.connect_to_read() as connection:
            found = self.find_version(connection)
        if found is None and must_exist:
            raise StoreError(
                f"There is no metadata store in {self._place}: its database is empty. Run a "
                "pipeline with it, or move one in: stoker store migrate FILE URL."
            )
        if found is None:
            found = self._create()
        if found != schema.VERSION:
            raise StoreError(
                f"The metadata store at {self._place} has MLMD schema version {found}, and this "
                f"version of Stoker works with {schema.VERSION}. Bring it to {schema.VERSION}: "
                f"stoker store upgrade --store {quote(self._place)}"
            )

    def _create(self) -> int:
        """Make the tables, unless another process was faster; gives their version."""
        found: int | None = schema.VERSION

        def create(connection: Connection) -> None:
            nonlocal found
            found = self.find_version(connection)
            if found is None:
                schema.create(connection)
                found = schema.VERSION

        if self.is_file:
            with self.connect_to_write() as connection:
                create(connection)
        else:
            from stoker.metadata import server

            with self._explain_errors():
                server.create_alone(self._engine, create)
        assert found is not None
        return found

    def find_version(self, connection: Connection) -> int | None:
        """The schema version, or None in an empty database."""
        tables = inspect(connection).get_table_names()
        if not tables:
            return None
        known = {name.lower() for name in tables}
        if not self.is_file and known <= {table.name.lower() for table in schema.list_tables()}:
            return self._ask_version(connection, known)
        if schema.environment.name.lower() not in known:
            raise StoreError(
                f"The database at {self._place} is not a metadata store: it has the tables "
                f"{', '.join(sorted(tables)[:5])}, but no MLMDEnv. For a new store, {_OTHER_FILE}."
            )
        return connection.execute(select(schema.environment.c.schema_version)).scalar() or 0

    def _ask_version(self, connection: Connection, known: set[str]) -> int | None:
        """Of a server's: None as long as its tables are not all made."""
        if schema.environment.name.lower() not in known:
            return None
        version: int | None = connection.scalar(select(schema.environment.c.schema_version))
        return version

    @contextlib.contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            if not self.is_file:
                from stoker.metadata import server

                raise server.explain(error, self._place) from error
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
        enable_from_linting=False,  # a neighbour may be found by a subquery
        # isolation_level None: transactions begin where `_begin` says, not where sqlite3 guesses.
        connect_args={"timeout": _BUSY_SECONDS, "isolation_level": None},
    )
    event.listen(engine, "begin", _begin)
    return engine


def _sqlite_to_look_on(path: str) -> Engine:
    engine = create_engine(
        _locate(path) if os.path.exists(path) and not os.access(path, os.W_OK) else _name(path),
        poolclass=NullPool,
        enable_from_linting=False,
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
