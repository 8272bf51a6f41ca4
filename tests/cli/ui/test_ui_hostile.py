# SPDX-License-Identifier: Apache-2.0
"""Data that says what no page should do: nothing of it runs, all of it can be read."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hostile_pipeline import HOSTILE, LINK, SCRIPT, run_hostile

from stoker.errors import StepFailed
from stoker.metadata import sqlite_metadata_connection_config
from stoker.metadata.store import Store
from stoker.views.artifact_views import html_page

pytestmark = pytest.mark.slow

UNSEEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Checker(HTMLParser):
    """Collects what a browser would run, and what a reader would see."""

    def __init__(self):
        super().__init__()
        self.wrong, self.text = [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            value = (value or "").strip().lower()
            leads = name in ("href", "src", "action", "formaction", "xlink:href", "data", "content")
            is_script = leads and value.startswith("javascript:")
            if name.startswith("on") or name == "style" or is_script:
                self.wrong.append((tag, name, value))
        given = dict(attrs)
        if tag == "script" and given.get("src") != "/static/page.js":
            self.wrong.append((tag, attrs))
        if tag in ("iframe", "object", "embed", "img", "b"):
            self.wrong.append((tag, attrs))

    def handle_data(self, data):
        self.text.append(data)


def check(page):
    checker = Checker()
    checker.feed(page)
    assert checker.wrong == []
    assert not UNSEEN.search(page)
    return "".join(checker.text)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    root = tmp_path_factory.mktemp("hostile") / "root"
    run_hostile(root, report=True)
    with pytest.raises(StepFailed):
        run_hostile(root, label="fail", report=True)
    return root


@pytest.fixture(scope="module")
def hostile_client(serve, hostile):
    return serve(hostile).enter()


@pytest.fixture(scope="module")
def artifacts(hostile):
    with Store(sqlite_metadata_connection_config(str(hostile / "metadata.db"))) as store:
        return store.artifacts()


def test_every_page_shows_it_and_runs_nothing(hostile_client, artifacts):
    runs = hostile_client.get("/s/0/runs").text
    ids = [part.partition('"')[0] for part in runs.split('name="run" value="')[1:]]
    pages = [
        "/s/0/runs",
        "/s/0/runs?q=" + SCRIPT,
        "/s/0/runs?sort=" + SCRIPT + "&column=" + SCRIPT,
        "/s/0/data",
        "/s/0/compare?" + "&".join(f"run={one}" for one in ids),
        *(f"/s/0/run?id={one}" for one in ids),
        *(f"/s/0/run/part?id={one}" for one in ids),
        *(f"/s/0/artifact?id={one.id}" for one in artifacts),
        "/s/0/run?id=" + SCRIPT,
    ]
    texts = [check(hostile_client.get(page).text) for page in pages]
    assert sum(SCRIPT in text for text in texts) > 8
    assert sum(LINK in text for text in texts) > 5
    assert any("\\u202egnp.exe\\u200f" in text for text in texts)


def test_a_metric_named_so_is_a_column_that_sorts(hostile_client):
    page = hostile_client.get("/s/0/runs", params={"q": f'"{LINK}" > 0.1'}).text
    assert check(page).count("1 of 2 runs") == 1


def test_reports_show_it_and_run_nothing(hostile):
    reports = sorted(hostile.glob("report-*.html"))
    assert len(reports) == 2
    for report in reports:
        text = check(report.read_text())
        assert all(word in text for word in HOSTILE[:3])
        assert "<script" not in report.read_text()
    assert "train failed: ValueError" in check(reports[1].read_text())


def test_html_views_show_it_and_run_nothing(artifacts):
    for artifact in artifacts:
        check(html_page(artifact))


def test_a_file_of_the_users_is_never_a_page(hostile_client, artifacts):
    run = next(one for one in artifacts if one.type_name == "ModelRun")
    text = hostile_client.get(f"/s/0/file?id={run.id}&path=metrics.jsonl&as=text")
    assert text.headers["content-type"].startswith("text/plain")
    saved = hostile_client.get(f"/s/0/file?id={run.id}&path=metrics.jsonl")
    assert saved.headers["content-type"] == "application/octet-stream"
    assert saved.headers["content-disposition"].startswith("attachment")
    assert saved.content == Path(run.uri, "metrics.jsonl").read_bytes()
