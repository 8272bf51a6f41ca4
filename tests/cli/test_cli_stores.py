# SPDX-License-Identifier: Apache-2.0
import shutil

import pytest


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


def test_several_stores_are_listed_with_the_flag_to_choose(stoker, run, root):
    shutil.copytree(root, root.parent / "more")
    result = stoker("runs")
    assert result.code == 2
    assert "--store out/more/metadata.db" in result.err
    assert "--store out/notes/metadata.db" in result.err


def test_no_store_says_what_to_do_and_makes_none(stoker, here):
    result = stoker("runs")
    assert result.code == 2
    assert "There is no metadata.db" in result.err
    assert list(here.iterdir()) == []


def test_a_database_that_cannot_be_used_is_wrong_usage_without_its_password(stoker, here):
    result = stoker("runs", "--store", "nosuchdb://me:abracadabra@host/db")
    assert result.code == 2
    assert "A metadata store is an SQLite file, got 'nosuchdb://me:***@host/db'" in result.err
    assert "abracadabra" not in result.err


def test_a_named_store_that_is_not_there_is_wrong_usage(stoker, here):
    result = stoker("runs", "--store", "gone.db")
    assert result.code == 2
    assert "There is no store gone.db." in result.err
    assert not (here / "gone.db").exists()
