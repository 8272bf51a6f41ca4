# SPDX-License-Identifier: Apache-2.0
import json

import note_pipeline
import pytest

from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.schema_gen import SchemaGen
from stoker.components.statistics_gen import StatisticsGen
from stoker.dsl import Pipeline
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner


def test_a_run_shows_its_steps_and_their_outputs(stoker, run, note):
    record = stoker("show", run.id, "--json").record
    assert (record["state"], record["pipeline"]) == ("complete", "notes")
    first, second = record["steps"]
    assert (first["node"], first["outputs"]["note"][0]["uri"]) == ("write", note.uri)
    assert (second["node"], second["state"]) == ("count", "complete")


@pytest.mark.parametrize("begin", [slice(None), slice(0, 22)], ids=["id", "beginning"])
def test_a_run_is_named_by_its_id_or_the_beginning_of_it(stoker, run, begin):
    assert stoker("show", run.id[begin], "--json").record["run"] == run.id


def test_the_last_run_has_a_name(stoker, root, run):
    newest = note_pipeline.run_notes(root)
    assert stoker("show", "last", "--json").record["run"] == newest.id


def test_a_beginning_that_several_runs_share_is_wrong_usage(stoker, root, run):
    note_pipeline.run_notes(root)
    result = stoker("show", run.id[:5])
    assert result.code == 2
    assert f"2 runs begin with '{run.id[:5]}'; give more of the id." in result.err


def test_a_step_shows_what_its_last_execution_read_and_wrote(stoker, root, run):
    note_pipeline.run_notes(root, text="other")
    record = stoker("show", "write", "--json").record
    assert record["parameters"]["text"] == "other"
    assert record["outputs"]["note"][0]["type"] == "Note"
    assert "cache_parts" not in record["parameters"]


def test_a_step_is_found_where_a_folder_has_its_name(stoker, root, run, monkeypatch):
    monkeypatch.chdir(root)
    assert stoker("show", "write", "--json").record["node"] == "write"


def test_a_failed_step_shows_its_error(stoker, root):
    with pytest.raises(StepFailed):
        note_pipeline.fail_notes(root)
    out = stoker("show", "fail_late").out
    assert "failed in" in out
    assert "OSError: the disk is full" in out


def test_an_artifact_shows_its_files_and_who_made_it(stoker, note):
    record = stoker("show", note.id, "--json").record
    assert record["files"] == [{"path": "note.txt", "size": 5}]
    assert record["made_by"]["node"] == "write"
    assert record["state"] == "live"


def test_an_artifact_may_be_named_by_its_path(stoker, note):
    assert stoker("show", "out/notes/write/note/1", "--json").record["id"] == note.id


def test_a_value_is_shown(stoker, run):
    out = stoker("show", run.outputs["count"]["length"][0].id).out
    assert out.splitlines()[-2:] == ["VALUE", "5"]


def test_secrets_in_parameters_are_masked(stoker, root):
    config = json.dumps({"api_key": "abracadabra", "layers": 3})
    note_pipeline.run_notes(root, config=config)
    for words in (("show", "write"), ("show", "write", "--json")):
        out = stoker(*words).out
        assert "abracadabra" not in out
        assert "***" in out
        assert "layers" in out


def test_a_name_that_stands_for_nothing_is_told_the_steps(stoker, run):
    result = stoker("show", "wrte")
    assert result.code == 2
    assert "no run, artifact or step 'wrte'. Did you mean 'write'?" in result.err
    assert "The steps are write, count." in result.err


@pytest.fixture
def data_run(here):
    (here / "data").mkdir()
    rows = "".join(f"{number},{'ab'[number % 2]},{number / 2}\n" for number in range(30))
    (here / "data" / "rows.csv").write_text(f"id,word,half\n{rows}")
    reading = CsvExampleGen(str(here / "data"))
    counting = StatisticsGen(examples=reading.outputs["examples"])
    inferring = SchemaGen(statistics=counting.outputs["statistics"])
    pipeline = Pipeline("data", str(here / "root"), components=[reading, counting, inferring])
    return LocalDagRunner(InProcess()).run(pipeline)


def preview_of(stoker, run, node, key):
    (artifact,) = run.outputs[node][key]
    return stoker("show", artifact.id, "--json").record["preview"]


def test_examples_are_shown_feature_by_feature(stoker, data_run):
    train, evaluation = preview_of(stoker, data_run, "CsvExampleGen", "examples")
    assert train["title"] == "train: the first 3 examples"
    assert [row[0] for row in evaluation["rows"]] == ["half", "id", "word"]
    half, number, word = (row[1] for row in train["rows"])
    assert float(half) == int(number) / 2
    assert word == "ab"[int(number) % 2]


def test_statistics_are_shown_for_each_split(stoker, data_run):
    tables = preview_of(stoker, data_run, "StatisticsGen", "statistics")
    counted = [int(table["title"].split()[1]) for table in tables]
    assert sum(counted) == 30
    words = next(row for row in tables[0]["rows"] if row[0] == "word")
    assert words[1:3] == ["STRING", "0"]
    assert words[7] == "2 different"
    assert set(words[8].split(", ")) == {"a", "b"}
    numbers = next(row for row in tables[0]["rows"] if row[0] == "half")
    assert set(numbers[8]) <= set(" ▁▂▃▄▅▆▇█")


def test_a_schema_is_shown_feature_by_feature(stoker, data_run):
    (table,) = preview_of(stoker, data_run, "SchemaGen", "schema")
    assert ["word", "BYTES", "required", "shape 1", "a, b"] in table["rows"]


def test_an_artifact_is_written_as_a_page(stoker, data_run, here):
    (statistics,) = data_run.outputs["StatisticsGen"]["statistics"]
    out = stoker("show", statistics.id, "--html", "page.html").out
    assert out == f"page.html shows ExampleStatistics {statistics.id}.\n"
    assert "<svg" in (here / "page.html").read_text()


def test_what_has_no_view_of_its_own_is_shown_by_its_files(stoker, note, here):
    stoker("show", note.id, "--html", "page.html")
    assert "note.txt" in (here / "page.html").read_text()
