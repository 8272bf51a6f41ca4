# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from stoker.dsl import Pipeline
from stoker.errors import MissingPart
from stoker.metadata import StoreConfig, sqlite_metadata_connection_config
from stoker.metadata.config import as_store_config


def test_a_relative_path_is_fixed_where_the_pipeline_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = sqlite_metadata_connection_config("data/metadata.db")
    monkeypatch.chdir("/")
    assert config.path == str(tmp_path / "data" / "metadata.db")


@pytest.mark.parametrize(
    "url", ["/tmp/metadata.db", "oracle://ana:secret@db.example/tfx", "mysql://ana:secret@db"]
)
def test_a_store_has_a_url_and_no_password_is_shown(url: str) -> None:
    with pytest.raises(ValueError, match=r"postgresql://USER@HOST/DATABASE|names no") as raised:
        StoreConfig(url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("password", ["secret", "s/e@c:r?e#t%", ""])
def test_what_is_shown_of_a_server_has_no_password(password: str) -> None:
    secret = f":{quote(password, safe='')}" if password else ""
    config = StoreConfig(f"postgresql://ana{secret}@db.example:5433/tfx?sslpassword=hidden")
    assert config.place == "postgresql://ana@db.example:5433/tfx"
    assert config.password == password
    assert repr(config) == "StoreConfig('postgresql://ana@db.example:5433/tfx')"
    assert (config.path, config.is_file, config.exists()) == ("", False, True)


@pytest.mark.parametrize(
    ("url", "extra"),
    [("postgresql://db/tfx", "postgres"), ("mysql://db/tfx", "mysql"), ("mariadb://db/x", "mysql")],
)
def test_a_driver_that_is_missing_is_named_with_the_command(
    url: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("psycopg", "pymysql"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPart, match=rf"pip install 'stoker\[{extra}\]'"):
        StoreConfig(url).require_driver()


def test_a_pipeline_takes_the_words_of_ml_metadata(tmp_path: Path) -> None:
    from ml_metadata.proto import metadata_store_pb2

    config = metadata_store_pb2.ConnectionConfig()
    config.sqlite.filename_uri = str(tmp_path / "metadata.db")
    pipeline = Pipeline("p", str(tmp_path), config)
    assert pipeline.metadata_connection_config == config
    assert pipeline.store_config(str(tmp_path)) == sqlite_metadata_connection_config(
        tmp_path / "metadata.db"
    )


def test_a_server_is_told_in_the_words_of_ml_metadata() -> None:
    from ml_metadata.proto import metadata_store_pb2

    config = metadata_store_pb2.ConnectionConfig()
    config.mysql.host, config.mysql.port, config.mysql.database = "db", 3307, "tfx"
    config.mysql.user, config.mysql.password = "ana", "p@ss"
    config.mysql.ssl_options.ca = "/ca.pem"
    config.mysql.ssl_options.verify_server_cert = True
    wanted = "mysql://ana:p%40ss@db:3307/tfx?ssl_ca=%2Fca.pem&ssl_check_hostname=true"
    assert as_store_config(config).url == wanted
    config.mysql.ssl_options.verify_server_cert = False
    assert as_store_config(config).url == wanted.replace("=true", "=false")

    said = config.postgresql
    said.host, said.port, said.user, said.dbname = "db", "5433", "ana", "tfx"
    said.passfile, said.ssloption.sslmode = "/pass", "verify-full"
    assert as_store_config(config).url == (
        "postgresql://ana@db:5433/tfx?sslmode=verify-full&passfile=%2Fpass"
    )


def test_tfxs_way_to_name_mysql_gives_ml_metadatas_message(tmp_path: Path) -> None:
    from tfx.v1.orchestration.metadata import mysql_metadata_connection_config

    config = mysql_metadata_connection_config("db", 3306, "tfx", "ana", "secret")
    pipeline = Pipeline("p", str(tmp_path), config)
    assert pipeline.store_config("/root").place == "mysql://ana@db:3306/tfx"


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


def test_a_metadata_server_is_refused_in_one_line_with_what_to_give_instead() -> None:
    from ml_metadata import MetadataStore
    from ml_metadata.proto import metadata_store_pb2

    server = metadata_store_pb2.MetadataStoreClientConfig(host="mlmd.example", port=8080)
    server.ssl_config.client_key = "secret"
    with pytest.raises(RuntimeError) as raised:
        MetadataStore(server)
    assert str(raised.value) == (
        "Metadata servers like mlmd.example:8080 are not supported: give a ConnectionConfig of the "
        "database that the server uses, for example of mysql."
    )
    with pytest.raises(RuntimeError, match=r"^A metadata store is .*a MetadataStoreServerConfig.$"):
        MetadataStore(metadata_store_pb2.MetadataStoreServerConfig())
