# SPDX-License-Identifier: Apache-2.0
"""The commands over artifacts that are in a bucket."""

import fsspec
import note_pipeline
import pytest

from stoker.dsl import Pipeline
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.metadata.config import sqlite_metadata_connection_config
from stoker.runner import LocalDagRunner
from stoker.storage import upload
from stoker.storage.checkpoint_mirror import name_machine
from stoker.storage.locks import hold_dir
from stoker.storage.root import Root

pytestmark = pytest.mark.slow

URL = "memory://b/root"


@pytest.fixture
def files(here, monkeypatch):
    monkeypatch.setenv("STOKER_CACHE_DIR", str(here / "cache"))
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


def run_notes(text="hello"):
    writing = note_pipeline.write(text=text)
    counting = note_pipeline.count(note=writing.outputs["note"])
    config = sqlite_metadata_connection_config("m.db")
    pipeline = Pipeline("notes", URL, config, [writing, counting], enable_cache=True)
    return LocalDagRunner(InProcess()).run(pipeline)


def test_what_was_uploaded_and_not_published_is_cleaned_and_nothing_else(
    stoker, files, monkeypatch
):
    run_notes()
    published = set(files.find("/b/root"))

    def fail(*_):
        raise upload.PlaceError("the server is gone")

    with monkeypatch.context() as patch:
        patch.setattr("stoker.runner.away.write_manifest", fail)
        with pytest.raises(StepFailed, match="the server is gone"):
            run_notes("other")
    left = set(files.find("/b/root")) - published
    assert [name.rpartition("/")[2] for name in left] == ["note.txt"]

    told = stoker("clean", "--store", "m.db", "--dry-run").out
    assert "Note that was not published" in told
    assert set(files.find("/b/root")) == published | left
    assert stoker("clean", "--store", "m.db").code == 0
    assert set(files.find("/b/root")) == published
    assert "2 artifacts are as they were published" in stoker("verify", "--store", "m.db").out


def test_copies_of_checkpoints_are_cleaned_by_the_machine_that_made_them(stoker, files):
    run_notes()
    published = set(files.find("/b/root"))
    root = Root.at(URL)
    own, held = (root.checkpoint_dir("Trainer", digest) for digest in ("1", "2"))
    machine = name_machine(root)
    for folder in (own, held):
        for name in (machine, "another"):
            files.pipe_file(f"{root.find_place(folder)}/{name}/fit/00000001.npz", b"saved")

    with hold_dir(held, f"{held}-otherwise"):
        assert stoker("clean", "--store", "m.db").code == 0

    left = {name.partition("checkpoints/")[2] for name in set(files.find("/b/root")) - published}
    assert left == {
        "Trainer/1/another/fit/00000001.npz",
        "Trainer/2/another/fit/00000001.npz",
        f"Trainer/2/{machine}/fit/00000001.npz",
    }


def test_damage_in_a_bucket_is_told(stoker, files):
    run_notes()
    (name,) = files.glob("/b/root/write/note/*/note.txt")
    files.pipe_file(name, b"HELLO")
    result = stoker("verify", "--store", "m.db")
    assert result.code == 1
    assert "note.txt  changed" in result.out


def test_an_artifact_is_copied_to_a_bucket_and_to_a_folder(stoker, files, here):
    note = run_notes().outputs["write"]["note"][0]
    assert stoker("copy", note.uri, "memory://b/copied", "--store", "m.db").code == 0
    assert files.cat_file("/b/copied/note.txt") == b"hello"
    assert stoker("copy", note.id, "folder", "--store", "m.db").code == 0
    assert (here / "folder" / "note.txt").read_text() == "hello"

    again = stoker("copy", note.id, "memory://b/copied", "--store", "m.db")
    assert (again.code, "Name an empty place" in again.err) == (2, True)
