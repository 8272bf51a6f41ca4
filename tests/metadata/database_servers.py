# SPDX-License-Identifier: Apache-2.0
"""Real PostgreSQL and MariaDB servers on loopback, in temporary folders of their own."""

import contextlib
import functools
import glob
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from stoker.metadata import StoreConfig, schema, write
from stoker.metadata.server import make_engine
from stoker.metadata.store import Store

USER = "ana"
PASSWORD = "kX7-not/to:be@seen-9"
"""What a URL must quote, and what no file may ever show."""
QUOTED = "kX7-not%2Fto%3Abe%40seen-9"
one_soon = pytest.mark.parametrize(
    "server", ["postgresql", pytest.param("mysql", marks=pytest.mark.envs)], indirect=True
)
"""For what takes long: soon on one server, and on the other with the longest tests."""
_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
_ACCOUNTS = {"postgresql": "postgres", "mysql": "mysql"}


def find_program(name: str) -> str | None:
    """A server's program, which Debian does not put on the PATH of users."""
    folders = [*sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True), "/usr/sbin"]
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], *folders]))


def skip_without(kind: str) -> None:
    """Skip a test whose server is not installed."""
    names = {"postgresql": ("initdb", "postgres"), "mysql": ("mariadb-install-db", "mariadbd")}
    if lacking := [name for name in names[kind] if not find_program(name)]:
        package = {"postgresql": "postgresql", "mysql": "mariadb-server"}[kind]
        pytest.skip(f"{lacking[0]} is not installed: apt-get install {package}")


def find_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@dataclass
class DatabaseServer:
    """One server; it ends with the process that started it."""

    kind: str
    port: int = field(default_factory=find_port)
    folder: str = ""
    options: tuple[str, ...] = ()
    """What else its program is told."""
    process: "subprocess.Popen[bytes] | None" = None
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def make(self) -> None:
        """Make its files, and give it the one user that tests connect as."""
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix=f"stoker-{self.kind}-", dir=memory)
        if os.geteuid() == 0:
            shutil.chown(self.folder, _ACCOUNTS[self.kind])
        data = os.path.join(self.folder, "data")
        if self.kind == "postgresql":
            command = [find_program("initdb"), "-D", data, "-U", "postgres", "--no-sync"]
            command += ["--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust"]
        else:
            command = [find_program("mariadb-install-db"), "--no-defaults", f"--datadir={data}"]
            command += ["--auth-root-authentication-method=normal", "--skip-test-db"]
            command += ["--innodb-log-file-size=8M", "--innodb-flush-method=nosync"]
        subprocess.run(
            [*self._as_account(), *command], check=True, stdout=subprocess.DEVNULL, cwd=self.folder
        )
        if self.kind == "postgresql":
            with open(os.path.join(data, "pg_hba.conf"), "w") as file:
                file.write("local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        self.start()
        for statement in self._list_grants():
            self.execute(statement)

    def _list_grants(self) -> list[str]:
        if self.kind == "postgresql":
            return [f"CREATE ROLE {USER} LOGIN CREATEDB PASSWORD '{PASSWORD}'"]
        return [
            f"CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
            f"GRANT ALL ON `stoker_%`.* TO {USER}@'127.0.0.1'",
        ]

    def _as_account(self) -> list[str]:
        """Servers refuse to run as root; and they should not outlive the tests."""
        if os.geteuid() != 0:
            return ["setpriv", "--pdeathsig", "KILL"]
        account = pwd.getpwnam(_ACCOUNTS[self.kind])
        ids = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        return ["setpriv", *ids, "--pdeathsig", "KILL"]

    def start(self) -> None:
        """Start it, and wait until it answers."""
        data = os.path.join(self.folder, "data")
        if self.kind == "postgresql":
            options = {
                "listen_addresses": "127.0.0.1",
                "unix_socket_directories": self.folder,
                "fsync": "off",
                "max_connections": "200",
            }
            command = [find_program("postgres"), "-D", data, "-p", str(self.port)]
            command += [
                part for name, value in options.items() for part in ("-c", f"{name}={value}")
            ]
        else:
            command = [find_program("mariadbd"), "--no-defaults", f"--datadir={data}"]
            command += [f"--port={self.port}", "--bind-address=127.0.0.1", "--max-connections=200"]
            command += [f"--socket={self._socket}", f"--pid-file={self.folder}/pid"]
            # What is committed outlives the server, but not the machine.
            command += ["--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync"]
            command += ["--innodb-log-file-size=8M"]
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [*self._as_account(), *command, *self.options],
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                self.execute("SELECT 1")
                return
            except (OSError, OperationalError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    with open(os.path.join(self.folder, "log")) as log:
                        sys.stderr.write(log.read())
                    raise
                time.sleep(0.05)

    @property
    def _socket(self) -> str:
        return os.path.join(self.folder, "socket")

    def kill(self) -> None:
        """What no server expects."""
        assert self.process
        backends = self._list_children()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        # The backends of PostgreSQL end by themselves a moment later; until then none can start.
        deadline = time.monotonic() + 20
        while any(map(_is_there, backends)) and time.monotonic() < deadline:
            time.sleep(0.05)

    def send_signal(self, number: int) -> None:
        """Signal it and its children: SIGSTOP lets it hang with all sockets open."""
        assert self.process
        for pid in (self.process.pid, *self._list_children()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _list_children(self) -> list[int]:
        assert self.process
        command = ["pgrep", "-P", str(self.process.pid)]
        found = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        return [int(pid) for pid in found.stdout.split()]

    def stop(self) -> None:
        """End it, and remove its files."""
        self._stack.close()
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def execute(self, statement: str, database: str = "") -> list[tuple[object, ...]]:
        """Ask the server as its owner, through its socket."""
        if self.kind == "postgresql":
            where = f"postgres@/{database or 'postgres'}?host={self.folder}&port={self.port}"
        else:
            where = f"root@localhost/{database or 'mysql'}?unix_socket={self._socket}"
        engine = create_engine(
            f"{_DRIVERS[self.kind]}://{where}", poolclass=NullPool, isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as connection:
            result = connection.execute(text(statement))
            return [tuple(row) for row in result] if result.returns_rows else []

    def url(self, database: str, *, password: str = QUOTED, port: int = 0) -> str:
        """Where a database is."""
        return f"{self.kind}://{USER}:{password}@127.0.0.1:{port or self.port}/{database}"

    @functools.cached_property
    def _shared(self) -> StoreConfig:
        config = self._stack.enter_context(self.make_database())
        Store(config).close()
        return config

    def share_database(self) -> StoreConfig:
        """A store with nothing in it: to empty one is faster than to make one."""
        engine = create_engine(
            self._shared.url.replace(self.kind, _DRIVERS[self.kind], 1), poolclass=NullPool
        )
        tables = schema.list_tables()
        with engine.begin() as connection:
            if self.kind == "postgresql":
                names = ", ".join(table.name for table in tables)
                connection.execute(text(f"TRUNCATE {names} RESTART IDENTITY"))
            for table in tables if self.kind == "mysql" else ():
                connection.execute(text(f"DELETE FROM {table.name}"))
                if "id" in table.c:
                    connection.execute(text(f"ALTER TABLE {table.name} AUTO_INCREMENT = 1"))
            schema.add_first_rows(connection)
        return self._shared

    def count_on(self, config: StoreConfig) -> None:
        """Let ids go on after those that there are."""
        engine = make_engine(config, pooled=False)
        with engine.begin() as connection:
            for table in schema.list_tables():
                if "id" in table.c and self.kind == "mysql":
                    connection.execute(text(f"ALTER TABLE {table.name} AUTO_INCREMENT = 1"))
                elif "id" in table.c and connection.scalar(select(table.c.id).limit(1)):
                    write.count_on(connection, table)

    @contextlib.contextmanager
    def make_database(self) -> Iterator[StoreConfig]:
        """A database of the user's own, for one test."""
        name = f"stoker_{secrets.token_hex(6)}"
        owner = f" OWNER {USER}" if self.kind == "postgresql" else ""
        self.execute(f"CREATE DATABASE {name}{owner}")
        yield StoreConfig(self.url(name))
        force = " WITH (FORCE)" if self.kind == "postgresql" else ""
        self.execute(f"DROP DATABASE {name}{force}")
