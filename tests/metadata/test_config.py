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
    assert pipeline.metadata_connection_config == config
    assert pipeline.store_config(str(tmp_path)) == sqlite_metadata_connection_config(
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


@pytest.mark.parametrize("kind", ["", "fake_database", "sqlite"])
def test_a_config_that_names_no_place_means_the_one_beside_the_outputs(
    tmp_path: Path, kind: str
) -> None:
    from ml_metadata.proto import metadata_store_pb2

    config = metadata_store_pb2.ConnectionConfig()
    if kind:
        getattr(config, kind).SetInParent()
    expected = sqlite_metadata_connection_config(tmp_path / "metadata.db")
    assert Pipeline("p", str(tmp_path), config).store_config(str(tmp_path)) == expected


def test_tfxs_pipelines_get_ml_metadatas_own_message(tmp_path: Path) -> None:
    from ml_metadata import MetadataStore
    from ml_metadata.proto import metadata_store_pb2
    from tfx.v1.orchestration.metadata import sqlite_metadata_connection_config as of_tfx

    config = of_tfx(tmp_path / "metadata.db")
    assert isinstance(config, metadata_store_pb2.ConnectionConfig)
    assert config.sqlite.filename_uri == str(tmp_path / "metadata.db")
    assert MetadataStore(config).get_artifacts() == []
    expected = sqlite_metadata_connection_config(tmp_path / "metadata.db")
    assert Pipeline("p", str(tmp_path), config).store_config(str(tmp_path)) == expected
