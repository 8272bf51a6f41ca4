# SPDX-License-Identifier: Apache-2.0
"""The rights that docs/team.md asks for are enough, and not more than enough."""

import re
from pathlib import Path

import pytest
from database_servers import DatabaseServer
from small_pipeline import begin, run

from stoker.errors import StoreError
from stoker.metadata import StoreConfig
from stoker.metadata.store import Store

pytestmark = pytest.mark.slow
PAGE = (Path(__file__).parents[2] / "docs" / "team.md").read_text()


def execute(server: DatabaseServer, title: str, database: str = "") -> None:
    """Run what the page says."""
    found = re.search(rf'```text title="{title}"\n(.*?)```', PAGE, re.DOTALL)
    assert found
    for statement in found[1].replace("DATABASE stoker", "DATABASE stoker_team").split(";\n"):
        told = statement.replace("stoker.*", "stoker_team.*").strip()
        if told:
            server.execute(told, database)


def test_the_rights_on_the_page_are_enough_for_runs(server: DatabaseServer) -> None:
    def url(user: str, password: str) -> StoreConfig:
        where = f"127.0.0.1:{server.port}/stoker_team"
        return StoreConfig(f"{server.kind}://{user}:{password}@{where}")

    execute(server, f"{server.kind}.sql")
    with pytest.raises(StoreError, match=r"rights that docs/team\.md lists"):
        Store(url("stoker_runs", "two"))
    with Store(url("stoker_owner", "one")) as store:
        run(store, "run-1")
    if server.kind == "postgresql":
        execute(server, "postgresql-rights.sql", "stoker_team")
    with Store(url("stoker_runs", "two")) as store, store.hold_run("run-2"):
        run(store, "run-2")
        assert begin(store, at_least=500)[0] == 500
        assert begin(store)[0] == 501
        assert len(store.runs()) == 2
    server.execute("DROP DATABASE stoker_team")
    for name in ("stoker_owner", "stoker_runs"):
        server.execute(f"DROP {'ROLE' if server.kind == 'postgresql' else 'USER'} {name}")
