# SPDX-License-Identifier: Apache-2.0
"""A store in a temporary directory or on a server, and a small pipeline that writes to it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from database_servers import DatabaseServer, skip_without

from stoker.metadata import StoreConfig, sqlite_metadata_connection_config
from stoker.metadata.store import Store

SERVERS = ["postgresql", "mysql"]
slow_servers = [pytest.param(kind, marks=pytest.mark.slow) for kind in SERVERS]


@pytest.fixture(scope="session")
def find_server() -> Iterator[Callable[[str], DatabaseServer]]:
    """Each server is started once, when the first test asks for it."""
    started: dict[str, DatabaseServer] = {}

    def find(kind: str) -> DatabaseServer:
        skip_without(kind)
        if kind not in started:
            started[kind] = DatabaseServer(kind)
            started[kind].make()
        return started[kind]

    yield find
    for server in started.values():
        server.stop()


@pytest.fixture(params=slow_servers)
def server(
    request: pytest.FixtureRequest, find_server: Callable[[str], DatabaseServer]
) -> DatabaseServer:
    """A server of each kind."""
    return find_server(request.param)


@pytest.fixture
def server_config(server: DatabaseServer) -> Iterator[StoreConfig]:
    """An empty database on a server."""
    with server.make_database() as config:
        yield config


@pytest.fixture
def file_config(tmp_path: Path) -> StoreConfig:
    """A file that is not there yet."""
    return sqlite_metadata_connection_config(tmp_path / "metadata.db")


@pytest.fixture(params=["sqlite", *slow_servers])
def config(
    request: pytest.FixtureRequest,
    file_config: StoreConfig,
    find_server: Callable[[str], DatabaseServer],
) -> StoreConfig:
    """An empty store of each kind."""
    if request.param == "sqlite":
        return file_config
    return find_server(request.param).share_database()


@pytest.fixture
def store(config: StoreConfig) -> Iterator[Store]:
    with Store(config) as opened:
        yield opened


@pytest.fixture
def file_store(file_config: StoreConfig) -> Iterator[Store]:
    with Store(file_config) as opened:
        yield opened
