# SPDX-License-Identifier: Apache-2.0
"""Calls that know only paths read from buckets and write to them."""

import fsspec
import pandas as pd
import pytest
import tensorflow_data_validation as tfdv

from stoker.storage.by_path import bring_here, send_there


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    monkeypatch.setenv("STOKER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


def test_a_path_of_this_machine_stays_as_it_is(tmp_path):
    path = str(tmp_path / "file")
    assert bring_here(path) == path
    with send_there(path) as here:
        assert here == path


def test_a_folder_goes_to_a_bucket_and_comes_back(bucket, tmp_path):
    with send_there("memory://b/out/") as here:
        (tmp_path / here / "sub").mkdir(parents=True)
        (tmp_path / here / "sub" / "file").write_text("text")

    with open(f"{bring_here('memory://b/out')}/sub/file", encoding="utf-8") as file:
        assert file.read() == "text"


def test_tfdv_reads_data_from_a_bucket_and_keeps_what_it_finds_there(bucket, tmp_path):
    bucket.pipe_file("/b/data/one.csv", b"age,kind\n1,x\n2,y\n")

    found = tfdv.generate_statistics_from_csv("memory://b/data", output_path="memory://b/stats")
    schema = tfdv.infer_schema(found)
    tfdv.write_schema_text(schema, "memory://b/schema.pbtxt")

    assert tfdv.load_statistics("memory://b/stats") == found
    assert tfdv.load_schema_text("memory://b/schema.pbtxt") == schema
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


@pytest.mark.parametrize(
    ("count", "options"),
    [
        (tfdv.generate_statistics_from_csv, {}),
        (tfdv.generate_statistics_from_tfrecord, {}),
        (tfdv.validate_examples_in_csv, {"stats_options": tfdv.StatsOptions()}),
        (tfdv.validate_examples_in_tfrecord, {"stats_options": tfdv.StatsOptions()}),
    ],
)
def test_tfdv_says_before_it_reads_that_the_place_for_its_statistics_is_a_folder(
    tmp_path, count, options
):
    for folder in (str(tmp_path), "statistics/"):
        with pytest.raises(ValueError, match="is the file of the statistics, got the folder"):
            count("there is no such data", output_path=folder, **options)


class Options:
    """What Beam's PipelineOptions answer."""

    def __init__(self, runner):
        self.runner = runner

    def get_all_options(self):
        return {"runner": self.runner}


@pytest.mark.parametrize(("runner", "is_told"), [("DataflowRunner", True), ("DirectRunner", False)])
def test_a_runner_of_other_machines_is_said_not_to_be_used(tmp_path, capsys, runner, is_told):
    path = tmp_path / "data.csv"
    pd.DataFrame({"age": [1, 2]}).to_csv(path, index=False)
    tfdv.generate_statistics_from_csv(str(path), pipeline_options=Options(runner))
    assert (f"{runner} is not used" in capsys.readouterr().out) is is_told
