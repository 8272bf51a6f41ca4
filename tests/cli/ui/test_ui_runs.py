# SPDX-License-Identifier: Apache-2.0
"""The pages about runs, as a served page answers."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import note_pipeline
import pytest
from walk_pipeline import STOP, run_walk

from stoker.cli import main

pytestmark = pytest.mark.slow


def list_runs(client, **asked):
    page = client.get("/s/0/runs", params=asked).text
    return [part.partition('"')[0] for part in page.split('name="run" value="')[1:]]


def test_the_first_page_lists_all_runs_newest_first(client):
    runs = list_runs(client)
    assert len(runs) == 4
    assert runs == sorted(runs, reverse=True)


@pytest.mark.parametrize(
    ("asked", "number"),
    [
        ("failed", 1),
        ("state = complete", 3),
        ("cached >= 2", 1),
        ("write.text = hello", 2),
        ('write.text = "good day"', 1),
        ("notes duration < 1h", 4),
        ("nobody", 0),
        ("accuracy > 0.9", 0),
    ],
)
def test_runs_are_found_by_words_and_conditions(client, asked, number):
    assert len(list_runs(client, q=asked)) == number


def test_an_unknown_column_is_told_with_the_one_that_was_meant(client):
    page = client.get("/s/0/runs", params={"q": "duraton > 1"}).text
    assert "No run has a column duraton. Did you mean &#39;duration&#39;?" in page


def test_a_parameter_becomes_a_column(client):
    page = client.get("/s/0/runs", params={"column": "write.text"}).text
    assert "good day" in page


def test_a_run_shows_its_steps_and_why_they_were_cached(client):
    (run,) = list_runs(client, q="cached >= 2")
    page = client.get("/s/0/run", params={"id": run}).text
    assert "hit: nothing changed since execution 1" in page
    assert 'aria-label="The steps of notes"' in page


def test_a_failed_run_shows_the_users_traceback_first(client):
    (run,) = list_runs(client, q="failed")
    page = client.get("/s/0/run", params={"id": run}).text
    error = page.partition('<pre class="error" tabindex="0">')[2].partition("</pre>")[0]
    assert error.startswith("Traceback")
    assert "raise OSError(&#34;the disk is full&#34;)" in error
    assert "fail_late failed: OSError: the disk is full" in error


def test_a_part_that_did_not_change_is_not_sent_again(client):
    first = client.get("/s/0/runs/part")
    again = client.get("/s/0/runs/part", headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code) == (200, 304)


@pytest.mark.parametrize("path", ["/s/7/runs", "/s/0/run?id=nothing", "/s/0/log?execution=999"])
def test_what_is_not_there_is_told(client, path):
    answer = client.get(path)
    assert answer.status_code in (404, 503)
    assert "There is no" in answer.text or "has no" in answer.text


def test_it_reads_while_another_process_writes_and_says_when_the_store_is_locked(client, notes):
    store = notes / "out/metadata.db"
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert len(list_runs(client)) == 4
        other.execute("ROLLBACK")
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        busy = client.get("/s/0/runs")
        assert busy.status_code == 503
        assert "locked" in busy.text
        assert busy.headers["refresh"] == "3"
        other.execute("ROLLBACK")
    assert len(list_runs(client)) == 4


def test_it_makes_no_store_and_finds_a_new_one(serve, tmp_path):
    note_pipeline.run_notes(tmp_path / "out")
    served = serve(tmp_path)
    client = served.enter()
    store = tmp_path / "out/metadata.db"
    for file in store.parent.glob("metadata.db*"):
        file.unlink()
    assert client.get("/s/0/runs").status_code == 503
    assert not store.exists()
    note_pipeline.run_notes(tmp_path / "out")
    assert len(list_runs(client)) == 1


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_stopping_it_leaves_no_process(serve, notes, how):
    served = serve(notes)
    served.enter().get("/s/0/runs")
    pid = served.process.pid
    code = served.end(how)
    assert code in ((0,) if how == signal.SIGINT else (0, -15))
    assert not os.path.exists(f"/proc/{pid}")


def test_a_run_that_is_killed_and_cleaned_is_told_to_have_died(serve, tmp_path):
    stop, script = tmp_path / "stop", Path(__file__).parent / "walk_pipeline.py"
    run_walk(tmp_path / "root", 0.5)
    client = serve(tmp_path).enter()
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "root"), "0.1"],
        env={**os.environ, STOP: str(stop)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: len(list_runs(client, q="state = running")) == 1)
        (run,) = list_runs(client, q="state = running")
        page = lambda: client.get("/s/0/run", params={"id": run}).text  # noqa: E731
        wait_for(lambda: 'aria-label="Progress of Trainer"' in page())
        assert "ExampleValidator" in page()
    finally:
        process.kill()
        process.wait()
        stop.touch()
    assert list_runs(client, q="state = died") == [run]
    assert "state died" in page()
    cleaned = subprocess.run(
        [sys.executable, "-m", "stoker", "clean"], cwd=tmp_path, capture_output=True, text=True
    )
    assert cleaned.returncode == 0, cleaned.stderr
    assert "state died" in page()
    assert client.get("/s/0/data").status_code == 200


def wait_for(condition, seconds=30):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.2)


def test_a_missing_package_is_named_with_the_extra(tmp_path, monkeypatch, capsys):
    note_pipeline.run_notes(tmp_path / "out")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in [name for name in sys.modules if name.startswith("stoker.cli.ui.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit) as left:
        main(["ui", "--root", str(tmp_path)])
    assert left.value.code == 1
    assert "pip install 'stoker[ui]'" in capsys.readouterr().err
