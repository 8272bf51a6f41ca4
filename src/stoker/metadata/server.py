# SPDX-License-Identifier: Apache-2.0
"""A store on a PostgreSQL or MySQL server: its connections, its locks, and what its errors mean.

Writers come one after another, as in an SQLite file: each transaction first takes the lock of
MLMDEnv's one row. So ids and types are found or made without races; and who has lost a connection
while a transaction was being committed waits for its end before looking whether it took effect.
"""

import importlib
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.pool import NullPool

from stoker.errors import StoreError, StoreLost
from stoker.metadata.config import StoreConfig

_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 120
"""A server that has not answered for so long is taken for lost."""
_LOCK_SECONDS = 60
_IDLE_SECONDS = 60
"""Who does nothing for so long in the middle of a transaction does not keep others waiting."""
_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
_POSTGRES_OPTIONS = {
    "connect_timeout": str(_CONNECT_SECONDS),
    "application_name": "stoker",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": str(_ANSWER_SECONDS * 1000),
}
_CREATE_LOCK = {"lock": "stoker creates tables"}
_AGAIN = (
    # PostgreSQL: serialization, deadlock, lock not available, ended or starting, full.
    *("40001", "40P01", "55P03", "57P01", "57P02", "57P03", "57P05", "25P03", "53300"),
    # MySQL: too many connections, shutdown, lock wait, deadlock, killed, cannot connect, gone.
    *(1040, 1053, 1205, 1213, 1927, 2002, 2003, 2006, 2013, 2014, 2055, 4031),
)
_NARROW = re.compile(r"[Oo]ut of range|index row (size|requires)")
"""What a database says of a value that ours has room for, and one that ml-metadata made has not."""
_NEXT_MOVES = {
    "password authentication failed": "Check user and password.",
    "Access denied": "Check user, password and the rights on the database.",
    "no password supplied": "Put the password into STOKER_STORE, or for PostgreSQL in ~/.pgpass.",
    "does not exist": "Check the database's name, or let it be created: CREATE DATABASE …",
    "Unknown database": "Check the database's name, or let it be created: CREATE DATABASE …",
    "permission denied": "Let the database's owner give you the rights that docs/team.md lists.",
    "command denied": "Let the database's owner give you the rights that docs/team.md lists.",
    "certificate": "Check sslmode and sslrootcert, or ssl_ca, in the store's URL.",
}


def make_engine(config: StoreConfig, *, pooled: bool = True) -> Engine:
    """A pool of connections to a server; each is asked whether it still works before it is used."""
    config.require_driver()
    pool: dict[str, Any] = {"pool_size": 2, "max_overflow": 8, "pool_timeout": _LOCK_SECONDS}
    is_postgres = config.kind == "postgresql"
    if is_postgres:
        _import_postgres_driver()
    engine = create_engine(
        _locate(config),
        pool_pre_ping=True,
        hide_parameters=True,
        enable_from_linting=False,
        isolation_level="READ COMMITTED" if is_postgres else "REPEATABLE READ",
        **(pool if pooled else {"poolclass": NullPool}),
    )
    if is_postgres:
        event.listen(engine, "do_connect", _connect_to_postgres)
    event.listen(engine, "connect", _set_up_postgres if is_postgres else _set_up_mysql)
    event.listen(engine, "begin", _begin)
    return engine


def _locate(config: StoreConfig) -> URL:
    url = make_url(config.url).set(drivername=_DRIVERS[config.kind])
    if config.kind == "postgresql":
        return url.set(query={**_POSTGRES_OPTIONS, **url.query})
    times = {"connect_timeout": _CONNECT_SECONDS, "write_timeout": _ANSWER_SECONDS}
    times["read_timeout"] = _ANSWER_SECONDS
    ours = {"charset": "latin1", **{name: str(value) for name, value in times.items()}}
    return url.set(query={**ours, **url.query})


def _import_postgres_driver() -> None:
    """Let the driver find the TLS library that it brings, not the one inside TensorFlow.

    Their functions have the same names: where TensorFlow is loaded first, as a notebook may do, the
    first encrypted connection would crash the process.
    """
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags | os.RTLD_DEEPBIND)
    try:
        importlib.import_module("psycopg")
    finally:
        sys.setdlopenflags(flags)


def _connect_to_postgres(_: object, __: object, where: Any, options: Any) -> Any:
    from stoker.metadata.postgres_connection import LimitedConnection  # needs the driver

    return LimitedConnection.connect(*where, **options)


def _set_up_postgres(connection: Any, _: object) -> None:
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(
            f"SET lock_timeout = '{_LOCK_SECONDS}s'; "
            f"SET idle_in_transaction_session_timeout = '{_IDLE_SECONDS}s'; "
            # A machine that is gone holds no lock for long.
            "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; "
            "SET tcp_keepalives_count = 3; SET client_min_messages = warning"
        )
    connection.autocommit = False


def _set_up_mysql(connection: Any, _: object) -> None:
    # ml-metadata sends UTF-8 and lets the server take it for Latin-1: so do we, to be understood.
    connection.encoding = "utf8"
    with connection.cursor() as cursor:
        # Strict: what does not fit is an error, and not cut off.
        cursor.execute(
            f"SET SESSION innodb_lock_wait_timeout = {_LOCK_SECONDS}, "
            f"SESSION wait_timeout = {_IDLE_SECONDS}, "
            "SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES')"
        )


def _begin(connection: Connection) -> None:
    """Let writers come one after another."""
    if connection.get_execution_options().get("stoker_writes", False):
        connection.exec_driver_sql("SELECT schema_version FROM MLMDEnv FOR UPDATE")


def only_reads(engine: Engine) -> Engine:
    """The same engine for transactions that see one state from beginning to end."""
    if engine.dialect.name == "postgresql":
        return engine.execution_options(isolation_level="REPEATABLE READ")
    return engine


def create_alone(engine: Engine, create: Callable[[Connection], None]) -> None:
    """Make tables while no other process does; it has to look whether another one was faster."""
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:lock))"), _CREATE_LOCK)
            create(connection)
            connection.commit()
            return
        connection.execute(text("SELECT GET_LOCK(:lock, 60)"), _CREATE_LOCK)
        try:
            connection.commit()
            create(connection)
            connection.commit()
        finally:
            connection.execute(text("SELECT RELEASE_LOCK(:lock)"), _CREATE_LOCK)


def explain(error: DBAPIError, place: str) -> StoreError:
    """What an error of a driver means: to be tried again, or what to do about it."""
    reason = _tell_reason(error)
    if isinstance(error, IntegrityError):  # ml-metadata, which takes no lock of ours, was faster
        return StoreLost(f"The metadata store at {place} refused a row: {reason}.")
    moves = [move for sign, move in _NEXT_MOVES.items() if sign in reason]
    if error.connection_invalidated or (is_passing(error) and not moves):
        return StoreLost(f"The metadata store at {place} does not answer: {reason}.")
    if _NARROW.search(reason):
        moves.append("ml-metadata made its columns; to widen them: stoker store upgrade")
    return StoreError(" ".join([f"The metadata store at {place} failed: {reason}.", *moves]))


def is_passing(error: DBAPIError) -> bool:
    """Whether the same may work a moment later."""
    told: Any = error.orig
    code = getattr(told, "sqlstate", None) or next(iter(getattr(told, "args", ())), None)
    if code in _AGAIN or str(code).startswith("08"):
        return True
    # Before there is a connection, libpq gives no code: the server is away, or starting.
    return isinstance(error, OperationalError) and code == str(told)


def _tell_reason(error: DBAPIError) -> str:
    told: Any = error.orig
    match getattr(told, "args", ()):
        case (int(), str(words), *_):  # MySQL's number says less
            return words.rstrip(".")
    lines = [line.strip() for line in str(told).splitlines()]
    return "; ".join(line for line in lines if line and line != "^").rstrip(".")
