# SPDX-License-Identifier: Apache-2.0
"""Which files the page gives away: those of published artifacts, and no others."""

import os

import note_pipeline
import pytest

from stoker.metadata import sqlite_metadata_connection_config
from stoker.metadata.store import Store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def note(notes):
    with Store(sqlite_metadata_connection_config(str(notes / "out/metadata.db"))) as store:
        return store.artifacts(type_name="Note")[0]


def get(client, note, path, **asked):
    return client.get("/s/0/file", params={"id": note.id, "path": path, **asked})


def test_a_file_of_a_published_artifact_is_given_as_text_or_to_save(client, note):
    assert get(client, note, "note.txt", **{"as": "text"}).text == "hello"
    assert get(client, note, "note.txt").content == b"hello"


@pytest.mark.parametrize(
    "path",
    [
        "../1/note.txt/../../1/../../../metadata.db",
        "../../../metadata.db",
        "..",
        ".",
        "",
        "/etc/passwd",
        "//etc/passwd",
        "note.txt/../../../../metadata.db",
        "..\\..\\metadata.db",
        "%2e%2e/%2e%2e/metadata.db",
        "note.txt\0.png",
        "no such file",
    ],
)
def test_nothing_beside_it_is_given(client, note, path):
    for how in ({}, {"as": "text"}):
        answer = get(client, note, path, **how)
        assert answer.status_code == 404
        assert "SQLite" not in answer.text
        assert "root:" not in answer.text


def test_dots_and_absolute_paths_in_an_address_lead_nowhere(served, client):
    for path in (
        "/s/0/../../../etc/passwd",
        "/static/../pages.py",
        "/static/%2e%2e/__init__.py",
        "/static//etc/passwd",
        "//etc/passwd",
        "/s/0/file/etc/passwd",
    ):
        answer = client.request("GET", served.address + path)
        assert answer.status_code in (404, 422)
        assert "root:" not in answer.text


def test_a_link_that_leads_out_leads_nowhere(client, note, notes):
    (notes / "secret.txt").write_text("secret")
    link = os.path.join(note.uri, "link.txt")
    os.symlink(notes / "secret.txt", link)
    try:
        assert get(client, note, "link.txt").status_code == 404
    finally:
        os.unlink(link)


def test_what_was_not_published_is_not_given(client, notes):
    with Store(sqlite_metadata_connection_config(str(notes / "out/metadata.db"))) as store:
        (execution,) = [one for one in store.executions() if one.error]
        event = store.events(execution.id)[0]
    half = notes / "out/fail_late/note" / str(execution.id) / "half"
    assert half.exists()
    answer = client.get("/s/0/file", params={"id": event.artifact_id, "path": "half"})
    assert answer.status_code == 404


@pytest.mark.parametrize("number", ["", "x", "-1", "999", "1" * 40, "1 OR 1=1"])
def test_an_artifact_that_is_not_there_is_told(client, number):
    for page in ("artifact", "file"):
        assert client.get(f"/s/0/{page}", params={"id": number}).status_code == 404


def test_an_artifact_shows_its_maker_its_users_and_its_files(client, note):
    page = client.get("/s/0/artifact", params={"id": note.id}).text
    assert "write, execution 1" in page
    assert "2 executions, given again in 1" in page
    assert "note.txt" in page
    assert "count" in page.partition("<h2>Used by</h2>")[2]


def test_files_that_were_cleaned_are_told(serve, tmp_path):
    run = note_pipeline.run_notes(tmp_path / "out")
    note = run.outputs["write"]["note"][0]
    client = serve(tmp_path).enter()
    os.unlink(os.path.join(note.uri, "note.txt"))
    os.rmdir(note.uri)
    page = client.get("/s/0/artifact", params={"id": note.id})
    assert page.status_code == 200
    assert "Its files are gone." in page.text
    assert get(client, note, "note.txt").status_code == 404
