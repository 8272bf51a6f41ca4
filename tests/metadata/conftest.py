# SPDX-License-Identifier: Apache-2.0
"""A store in a temporary directory, and a small pipeline that writes to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.metadata import StoreConfig, sqlite_metadata_connection_config
from stoker.metadata.store import Store


@pytest.fixture
def config(tmp_path: Path) -> StoreConfig:
    return sqlite_metadata_connection_config(tmp_path / "metadata.db")


@pytest.fixture
def store(config: StoreConfig) -> Iterator[Store]:
    with Store(config) as opened:
        yield opened
