# SPDX-License-Identifier: Apache-2.0
import note_pipeline
import pytest

from stoker.dsl import Pipeline
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--root", "out"),
        ("--root", "out/notes"),
        ("--store", "out/notes/metadata.db"),
    ],
)
def test_the_store_is_found(stoker, run, words):
    assert [one["run"] for one in stoker("runs", "--json", *words).record] == [run.id]


def test_a_store_is_found_by_the_name_that_notebooks_of_tfx_give_it(stoker, run, root):
    (root / "metadata.db").rename(root / "metadata.sqlite")
    assert [one["run"] for one in stoker("runs", "--json").record] == [run.id]


def test_a_store_may_be_named_by_its_url(stoker, run, root):
    result = stoker("runs", "--json", "--store", f"sqlite:///{root}/metadata.db")
    assert result.record[0]["run"] == run.id


@pytest.fixture
def two(run, root):
    """Two pipelines in one folder, the second one newer; the first alone has the step `count`."""
    writing = note_pipeline.write(text="bye").with_id("scribble")
    pipeline = Pipeline("more", str(root.parent / "deep" / "more"), components=[writing])
    return run, LocalDagRunner(InProcess()).run(pipeline)


def test_the_runs_of_several_stores_are_listed_with_their_store(stoker, two):
    first, second = two
    header, *rows = stoker("runs").out.splitlines()
    assert header.split()[-1] == "STORE"
    assert [(row.split()[0], row.split()[-1]) for row in rows] == [
        (second.id, "out/deep/more/metadata.db"),
        (first.id, "out/notes/metadata.db"),
    ]
    assert [one["run"] for one in stoker("runs", "notes", "--json").record] == [first.id]
    assert "There is no pipeline 'nots'; there is notes, more." in stoker("runs", "nots").err


@pytest.mark.parametrize("words", [("show", "count"), ("explain", "count")])
def test_among_several_stores_the_one_that_knows_the_name_is_asked(stoker, two, words):
    result = stoker(*words, "--json")
    assert (result.record["run"], result.err) == (two[0].id, "")


def test_among_several_stores_the_one_with_the_artifact_at_a_path_is_asked(stoker, two, note):
    shown = stoker("show", note.uri, "--json")
    assert (shown.record["uri"], shown.err) == (note.uri, "")
    assert stoker("lineage", note.uri).code == 0


def test_among_several_stores_that_know_a_name_the_newest_is_asked_and_named(stoker, two):
    result = stoker("show", "last", "--json")
    assert result.record["run"] == two[1].id
    assert "From out/deep/more/metadata.db, the newest of 2 that know last" in result.err
    assert "--store FILE chooses another." in result.err


def test_what_removes_files_wants_one_store_to_be_named(stoker, two):
    result = stoker("clean")
    assert result.code == 2
    assert "--store out/deep/more/metadata.db" in result.err
    assert "--store out/notes/metadata.db" in result.err


def test_no_store_says_what_to_do_and_makes_none(stoker, here):
    result = stoker("runs")
    assert result.code == 2
    assert "There is no metadata.db" in result.err
    assert list(here.iterdir()) == []


def test_a_database_that_cannot_be_used_is_wrong_usage_without_its_password(stoker, here):
    result = stoker("runs", "--store", "nosuchdb://me:abracadabra@host/db")
    assert result.code == 2
    assert "A metadata store is sqlite:///FILE, postgresql://USER@HOST/DATABASE" in result.err
    assert "got 'nosuchdb://me@host/db'" in result.err
    assert "abracadabra" not in result.err


def test_a_named_store_that_is_not_there_is_wrong_usage(stoker, here):
    result = stoker("runs", "--store", "gone.db")
    assert result.code == 2
    assert "There is no store gone.db." in result.err
    assert not (here / "gone.db").exists()
