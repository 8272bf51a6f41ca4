# SPDX-License-Identifier: Apache-2.0
"""Who is alive on a server's store: whoever holds the database's own lock of a run.

The lock belongs to a connection, and the server lets it go when that ends, however it ends: with a
process that was killed, or a machine that is gone. A run whose connection was cut, or whose server
was started again, takes its lock anew a few seconds later; who finds a lock free, and would close
what its run has left, looks again after that time (`standings.find_dead`).
"""

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from stoker.errors import StoreError
from stoker.metadata import server
from stoker.metadata.config import StoreConfig

_HEARTBEAT_SECONDS = 4.0
RETAKEN_SECONDS = 2.5 * _HEARTBEAT_SECONDS
"""Until then, a run that is alive holds its lock again after it was lost."""
_WAIT_SECONDS = 0.5
_MANY_LOCKS = 100
_POSTGRES_LOCKS = """
SELECT classid, objid FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND datname = current_database()
"""


@contextlib.contextmanager
def hold_session_lock(
    config: StoreConfig, run_id: str, before_waiting: Callable[[], None] | None = None
) -> Iterator[None]:
    """Hold the lock of a run, on a connection of its own, and again if that is lost.

    Another holder is waited for by who gives `before_waiting`, and an error for all others.
    """
    engine = server.make_engine(config, pooled=False)
    holder = _Holder(engine.execution_options(isolation_level="AUTOCOMMIT"), run_id)
    thread = threading.Thread(target=holder.keep, name="stoker-session-lock", daemon=True)
    try:
        if not holder.take():
            if before_waiting is None:
                raise StoreError(
                    f"Another run with the id {run_id} is at work in {config.place}. "
                    "Start yours again."
                )
            before_waiting()
            while not holder.take():
                time.sleep(_WAIT_SECONDS)
        thread.start()
        yield
    finally:
        holder.ends.set()
        if thread.is_alive():
            thread.join(_HEARTBEAT_SECONDS)
        holder.let_go()
        engine.dispose()


class _Holder:
    """A connection that holds a lock."""

    def __init__(self, engine: Engine, run_id: str) -> None:
        self.ends = threading.Event()
        self._engine = engine
        self._run_id = run_id
        self._connection: Connection | None = None
        self._is_held = False

    def keep(self) -> None:
        """Look after the lock until the run ends."""
        while not self.ends.wait(_HEARTBEAT_SECONDS):
            try:
                if self._is_held and self._connection:
                    self._connection.execute(text("SELECT 1"))
                else:
                    self.take()
            except SQLAlchemyError:  # the server is away, and so is every judge
                self.let_go()

    def take(self) -> bool:
        """Take the lock; False if another connection has it, which may be one that was cut."""
        if self._connection is None:
            self._connection = self._engine.connect()
        ask: str
        name: int | str
        if self._connection.dialect.name == "postgresql":
            ask, name = "SELECT pg_try_advisory_lock(:name)", _number(self._run_id)
        else:
            self._connection.execute(text("SET SESSION wait_timeout = 28800"))
            ask, name = "SELECT GET_LOCK(:name, 0)", _name(self._connection, self._run_id)
        self._is_held = bool(self._connection.scalar(text(ask), {"name": name}))
        return self._is_held

    def let_go(self) -> None:
        """Close the connection, and the lock with it."""
        connection, self._connection, self._is_held = self._connection, None, False
        if connection is not None:
            with contextlib.suppress(SQLAlchemyError, OSError):
                connection.invalidate()
            connection.close()


def find_held(connection: Connection, run_ids: Iterable[str]) -> set[str]:
    """Which of these runs hold their locks."""
    names = list(run_ids)
    if connection.dialect.name == "postgresql":
        held = {(high << 32) + low for high, low in connection.execute(text(_POSTGRES_LOCKS))}
        return {name for name in names if _number(name) % 2**64 in held}
    found: set[str] = set()
    for start in range(0, len(names), _MANY_LOCKS):
        few = names[start : start + _MANY_LOCKS]
        asked = {f"lock_{number}": _name(connection, one) for number, one in enumerate(few)}
        ask = ", ".join(f"IS_USED_LOCK(:{lock})" for lock in asked)
        answers = connection.execute(text(f"SELECT {ask}"), asked).one()
        found |= {one for one, holder in zip(few, answers, strict=True) if holder is not None}
    return found


def _number(run_id: str) -> int:
    """A run's lock in PostgreSQL, where it belongs to the database: 64 bits, with a sign."""
    return int.from_bytes(_digest(run_id)[:8], signed=True)


def _name(connection: Connection, run_id: str) -> str:
    """A run's lock in MySQL, where all databases share the names of locks."""
    return f"stoker.{_digest(f'{connection.engine.url.database} {run_id}').hex()[:40]}"


def _digest(words: str) -> bytes:
    return hashlib.sha256(f"run {words}".encode()).digest()
