# SPDX-License-Identifier: Apache-2.0
"""Buckets where there is no network: told at once, and in one line."""

import socket
import time

import pytest
from tfx import v1 as tfx

from stoker.any_python import url_files
from stoker.errors import BadPipeline
from stoker.launchers.in_process import InProcess

pytest.importorskip("gcsfs")


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """A server whose name is reserved: nobody can have it."""
    monkeypatch.setitem(url_files._SERVERS, "gs", "storage.invalid")
    for name in (url_files._EMULATOR, *url_files._PROXIES):
        monkeypatch.delenv(name, raising=False)


def test_a_bucket_without_network_is_refused_before_its_client_looks_for_it():
    began = time.monotonic()
    with pytest.raises(url_files.PlaceError, match=r"gs://bucket/data.*storage\.invalid.*network"):
        url_files.exists("gs://bucket/data")
    assert time.monotonic() - began < 20


def test_a_pipeline_that_reads_such_a_bucket_is_refused_in_one_line(tmp_path):
    examples = tfx.components.CsvExampleGen(input_base="gs://bucket/data")
    pipeline = tfx.dsl.Pipeline("p", str(tmp_path / "root"), components=[examples])
    with pytest.raises(BadPipeline, match=r"storage\.invalid") as refused:
        tfx.orchestration.LocalDagRunner(InProcess()).run(pipeline)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "root" / "CsvExampleGen").exists()


def test_a_server_that_nobody_knows_is_not_asked_for_again():
    asked = []

    def ask():
        asked.append(1)
        try:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        except socket.gaierror as error:
            raise ConnectionError("Cannot connect to host") from error

    with pytest.raises(url_files.PlaceError, match=r"server is not found.*Check the network"):
        url_files.attempt(ask, "s3://bucket/data", "listed")
    assert len(asked) == 1
