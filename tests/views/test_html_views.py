# SPDX-License-Identifier: Apache-2.0
"""Artifacts as pages: well-formed, complete, and without anything from elsewhere."""

import html.parser
import json
import re
import shutil
import subprocess

import pyarrow as pa
import pytest

from stoker.artifacts import (
    ExampleAnomalies,
    Examples,
    ExampleStatistics,
    HyperParameters,
    Model,
    ModelBlessing,
    ModelRun,
    Schema,
    TunerResults,
)
from stoker.data.encode import encode
from stoker.data.tfrecord import write_records
from stoker.statistics.anomalies import find_anomalies, write_anomalies
from stoker.statistics.compute import compute_statistics, write_statistics
from stoker.statistics.data_schema import infer_schema, write_schema
from stoker.views.artifact_views import html_page, html_view, preview

EVIL = "<script>alert('ü')</script>"
BATCH = pa.record_batch(
    {
        "n&n": pa.array([[1.5], [2.5], [float("inf")], None], pa.large_list(pa.float32())),
        "same": pa.array([[7]] * 4, pa.large_list(pa.int64())),
        "word": pa.array(
            [[EVIL.encode()], [b"a"], [b"a"], [b""]], pa.large_list(pa.large_binary())
        ),
        "never": pa.nulls(4),
    }
)
VOID = {"meta"}


def made(kind, folder, splits=()):
    artifact = kind()
    artifact.uri, artifact.id = str(folder), 3
    if splits:
        artifact.splits = splits
    return artifact


TRIALS = [{"trial_id": "1", "score": 0.5, "lr": 0.1}, {"trial_id": "0", "error": EVIL}]


def written(folder, **files):
    folder.mkdir()
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def made_model(folder):
    model = made(Model, written(folder, weights="x" * 2000))
    model.custom_properties["signatures"] = {"serve": {"inputs": {EVIL: "string"}}}
    return model


def made_training(folder):
    def line(split, step, loss):
        return json.dumps({"step": step, "split": split, "metrics": {"loss": loss}}) + "\n"

    lines = [line("train", 1, 2.0), line("train", 9, 0.25), line("validation", 9, "NaN")]
    return made(ModelRun, written(folder, **{"metrics.jsonl": "".join(lines)}))


@pytest.fixture
def artifacts(tmp_path):
    statistics = compute_statistics([BATCH])
    schema = infer_schema(statistics)
    examples = made(Examples, tmp_path / "examples", ["train", "eval"])
    counted = made(ExampleStatistics, tmp_path / "statistics", ["train", "eval"])
    anomalies = made(ExampleAnomalies, tmp_path / "anomalies", ["train", "eval"])
    schema.feature.add(name="gone", type="INT").presence.min_count = 1
    for split, seen in (("train", statistics), ("eval", compute_statistics([]))):
        records = (one.as_py() for one in encode(BATCH))
        write_records(f"{examples.path(split=split)}/data.gz", records)
        write_statistics(seen, f"{counted.path(split=split)}/FeatureStats.pb")
        found = find_anomalies(seen, schema)
        write_anomalies(found, f"{anomalies.path(split=split)}/SchemaDiff.pb")
    write_schema(schema, str(tmp_path / "schema" / "schema.pbtxt"))
    return {
        "model": made_model(tmp_path / "model"),
        "training": made_training(tmp_path / "training"),
        "verdict": made(ModelBlessing, written(tmp_path / "verdict", NOT_BLESSED="")),
        "values": made(
            HyperParameters, written(tmp_path / "values", best={"values": {"lr": EVIL}})
        ),
        "trials": made(
            TunerResults, written(tmp_path / "trials", **{"tuner_results.json": TRIALS})
        ),
        "examples": examples,
        "statistics": counted,
        "anomalies": anomalies,
        "schema": made(Schema, tmp_path / "schema"),
    }


class Tags(html.parser.HTMLParser):
    """Checks that every tag is closed where it should be, and keeps the text."""

    def __init__(self):
        super().__init__()
        self.open, self.names, self.text = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.names.add(tag)

    def handle_data(self, data):
        self.text.append(data)


KINDS = [
    *("examples", "statistics", "anomalies", "schema"),
    *("model", "training", "verdict", "values", "trials"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_well_formed_and_needs_nothing_else(artifacts, kind):
    page = html_page(artifacts[kind])
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    assert not tags.names & {"script", "link", "img", "iframe"}
    assert not re.search(r"https?:|url\(|@import", page)


def texts(artifact):
    tags = Tags()
    tags.feed(html_view(artifact))
    return tags.text


def test_values_are_shown_as_they_are(artifacts):
    assert EVIL in texts(artifacts["examples"])
    assert EVIL in texts(artifacts["statistics"])
    assert EVIL in texts(artifacts["values"])
    for kind in ("schema", "model", "trials"):
        assert any(EVIL in text for text in texts(artifacts[kind]))


def test_statistics_have_a_card_for_every_feature(artifacts):
    view = html_view(artifacts["statistics"])
    assert view.count('class="card"') == 4
    assert view.count("<svg") == 3  # none for the feature that never has a value
    assert "train: 4 examples" in "".join(texts(artifacts["statistics"]))
    assert "train: 50.0% from 1.5 to 1.6" in texts(artifacts["statistics"])


def test_anomalies_are_told_by_split(artifacts):
    train, evaluation = preview(artifacts["anomalies"])
    assert train.title == "train: 1 anomaly"
    assert train.rows == [("gone", "Column dropped", "No example has this feature.")]
    assert evaluation.rows == [("(examples)", "No examples", "There is no example in this split.")]


def test_a_training_has_a_curve_for_every_metric(artifacts):
    assert html_view(artifacts["training"]).count("<polyline") == 2
    assert "train: 0.25 after 9 steps" in texts(artifacts["training"])


def test_a_model_is_shown_with_its_size(artifacts):
    assert "1 file, 2.0 kB" in texts(artifacts["model"])


def test_a_verdict_is_a_word(artifacts):
    assert "not blessed" in texts(artifacts["verdict"])


def test_files_that_are_gone_are_said_to_be(tmp_path):
    assert "Its files are gone." in texts(made(Model, tmp_path / "nowhere"))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
def test_a_browser_draws_the_histograms(artifacts, tmp_path):
    (tmp_path / "page.html").write_text(html_page(artifacts["statistics"]), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--dump-dom"]
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    browser = ["chromium", *flags, *quiet, f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [*browser, (tmp_path / "page.html").as_uri()], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.count("<rect") == html_page(artifacts["statistics"]).count("<rect")
