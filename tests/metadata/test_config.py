# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from pathlib import Path

import pytest

from stoker.dsl import Pipeline
from stoker.metadata import StoreConfig, sqlite_metadata_connection_config


def test_a_relative_path_is_fixed_where_the_pipeline_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = sqlite_metadata_connection_config("data/metadata.db")
    monkeypatch.chdir("/")
    assert config.path == str(tmp_path / "data" / "metadata.db")


@pytest.mark.parametrize("url", ["/tmp/metadata.db", "postgresql://ana:secret@db.example/tfx"])
def test_a_store_is_a_file_and_no_password_is_shown(url: str) -> None:
    with pytest.raises(ValueError, match=r"sqlite_metadata_connection_config\(path\)") as raised:
        StoreConfig(url)
    assert "secret" not in str(raised.value)


def test_a_pipeline_takes_the_words_of_ml_metadata(tmp_path: Path) -> None:
    from ml_metadata.proto import metadata_store_pb2

    config = metadata_store_pb2.ConnectionConfig()
    config.sqlite.filename_uri = str(tmp_path / "metadata.db")
    pipeline = Pipeline("p", str(tmp_path), config)
    assert pipeline.metadata_connection_config == sqlite_metadata_connection_config(
        tmp_path / "metadata.db"
    )
    config.mysql.password = "secret"
    with pytest.raises(
        ValueError, match=r"got a ConnectionConfig of mysql\. Use sqlite_"
    ) as raised:
        Pipeline("p", str(tmp_path), config)
    assert "secret" not in str(raised.value)


def test_declaring_a_store_loads_no_sqlalchemy() -> None:
    code = "import stoker.metadata, sys; sys.exit('sqlalchemy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
