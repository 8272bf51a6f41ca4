# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import pytest

from stoker.components.importer import Importer
from stoker.dsl import Pipeline
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner
from stoker.storage.root import manifest_file

pytestmark = pytest.mark.slow


def damaged(stoker, *words):
    result = stoker("verify", "--json", *words)
    assert result.code == (1 if result.record["damage"] else 0)
    return [(Path(one["path"]).name, one["problem"]) for one in result.record["damage"]]


def test_what_was_published_is_as_it_was(stoker, run):
    result = stoker("verify")
    assert (result.code, result.out) == (0, "2 artifacts are as they were published.\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [("jello", "changed"), ("hello!", "resized: 6 bytes, was 5"), (None, "missing")],
)
def test_damage_is_found(stoker, note, text, problem):
    file = Path(note.uri, "note.txt")
    file.unlink() if text is None else file.write_text(text)
    assert damaged(stoker) == [("note.txt", problem)]
    assert "1 of 2 artifacts are damaged." in stoker("verify").out


def test_what_was_added_is_found(stoker, note):
    Path(note.uri, "more").mkdir()
    Path(note.uri, "more", "note.txt").touch()
    assert damaged(stoker) == [("note.txt", "added")]


def test_a_name_that_is_no_utf8_can_be_told(stoker, note):
    Path(note.uri, os.fsdecode(b"caf\xe9")).touch()
    assert damaged(stoker) == [("caf\\xe9", "added")]
    assert "caf\\xe9  added" in stoker("verify").out


def test_a_value_is_compared_too(stoker, run):
    Path(run.outputs["count"]["length"][0].uri).write_text("6")
    assert damaged(stoker) == [("value", "changed")]


def test_a_missing_manifest_is_damage(stoker, note):
    Path(manifest_file(note.uri)).unlink()
    assert damaged(stoker) == [("1.json", "the manifest is missing")]


def test_only_the_named_artifacts_are_compared(stoker, run, note):
    Path(note.uri, "note.txt").unlink()
    assert damaged(stoker, run.outputs["count"]["length"][0].id) == []
    assert damaged(stoker, note.id) == [("note.txt", "missing")]


def test_files_from_outside_are_the_users_to_change(stoker, here, note):
    (here / "mine").mkdir()
    (here / "mine" / "note.txt").write_text("a")
    importer = Importer(source_uri=str(here / "mine"), artifact_type=type(note))
    root = here / "other"
    LocalDagRunner(InProcess()).run(Pipeline("notes", str(root), components=[importer]))
    (here / "mine" / "note.txt").write_text("b")
    result = stoker("verify", "--root", root)
    assert result.code == 0
    assert "1 from outside not compared" in result.out
