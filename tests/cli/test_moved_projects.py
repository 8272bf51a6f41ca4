# SPDX-License-Identifier: Apache-2.0
"""A project that is moved or copied, store and all, goes on where it lies now."""

import shutil
from pathlib import Path

import note_pipeline
import pytest

from stoker.metadata import sqlite_metadata_connection_config
from stoker.metadata.store import Store
from stoker.runner.cache import Given
from stoker.storage.digests import FileDigests
from stoker.storage.root import Root, find_moved_root


@pytest.fixture(params=["moved", "copied", "copied, and the first one is damaged"])
def there(request, here, run, root):
    """Where the project is now."""
    now = here / "elsewhere" / "notes"
    now.parent.mkdir()
    if request.param == "moved":
        shutil.move(root, now)
    else:
        shutil.copytree(root, now)
        for file in root.rglob("note.txt") if "damaged" in request.param else ():
            file.chmod(0o644)
            file.write_text("HELLO")
    return now


def list_uris(run):
    return [one.uri for made in run.outputs.values() for many in made.values() for one in many]


def test_the_cache_gives_what_lies_in_the_project(there):
    again = note_pipeline.run_notes(there)
    assert all(uri.startswith(f"{there}/") and Path(uri).exists() for uri in list_uris(again))
    with Store(sqlite_metadata_connection_config(there / "metadata.db")) as store:
        states = {one.standing for one in store.executions(run_id=again.id)}
        assert states == {"cached"}


def test_what_is_damaged_in_the_copy_is_made_anew_there_alone(there, root):
    (file,) = there.glob("write/note/*/note.txt")
    file.unlink()
    before = sorted(root.rglob("*"))
    again = note_pipeline.run_notes(there)
    assert Path(again.outputs["write"]["note"][0].uri, "note.txt").read_text() == "hello"
    assert not file.exists()
    assert sorted(root.rglob("*")) == before


def test_commands_find_its_artifacts(stoker, there, run):
    (shown,) = there.glob("write/note/*")
    assert stoker("show", shown, "--root", there, "--json").record["uri"] == str(shown)
    of_run = stoker("show", run.id, "--root", there, "--json").record
    assert of_run["root"] == str(there)
    assert of_run["steps"][0]["outputs"]["note"][0]["uri"] == str(shown)
    verified = stoker("verify", "--root", there, "--json")
    assert (verified.code, verified.record["compared"]) == (0, 2)


def test_clean_does_not_touch_the_project_that_it_was_copied_from(stoker, there, root):
    work = root / ".stoker" / "checkpoints" / "write" / "abc"
    work.mkdir(parents=True)
    ours = there / ".stoker" / "checkpoints" / "write" / "abc"
    ours.mkdir(parents=True)
    stoker("clean", "--root", there)
    assert (work.exists(), ours.exists()) == (True, False)


def test_the_store_keeps_what_was_recorded(there, root):
    note_pipeline.run_notes(there)
    recorded = sqlite_metadata_connection_config(there / "metadata.db")
    with Store(recorded) as store:
        assert store.moved_roots == {str(root): str(there)}
        (old,) = store.artifacts(type_name="Note")
        assert old.uri.startswith(str(there))
    shutil.move(there, root.with_name("back"))
    with Store(sqlite_metadata_connection_config(root.with_name("back") / "metadata.db")) as store:
        (old,) = store.artifacts(type_name="Note")
        assert old.uri.startswith(str(root.with_name("back")))


def test_a_root_is_where_it_was_from_its_store():
    assert find_moved_root("/a/out/p", "/a/out/p/m.db", "/b/out/p/m.db") == "/b/out/p"
    assert find_moved_root("/a/roots/p", "/a/meta/p/m.db", "/b/meta/p/m.db") == "/b/roots/p"
    assert find_moved_root("/a/out/p", "/a/out/p/m.db", "/a/out/p/m.db") == "/a/out/p"


def test_files_that_the_code_has_read_are_looked_at_in_the_copy_and_where_they_were(tmp_path):
    for project in ("first", "second"):
        (tmp_path / project / "out").mkdir(parents=True)
        (tmp_path / project / "words.txt").write_text("a b c")
    root, moved = Root(str(tmp_path / "second" / "out")), {}
    moved[str(tmp_path / "first" / "out")] = root.path
    digest = FileDigests(str(tmp_path / "digests.json"))
    words = tmp_path / "first" / "words.txt"
    notes = {f"file {words}": digest(str(words))}

    def changes():
        fresh = FileDigests(str(tmp_path / "none.json"))
        return Given.to_this_program(root, fresh, moved).describe_changes(notes)

    assert changes() == []
    (tmp_path / "second" / "words.txt").write_text("a b c d")
    assert changes() == [f"file {words} changed"]
    (tmp_path / "second" / "words.txt").write_text("a b c")
    words.unlink()
    assert changes() == []
    (tmp_path / "second" / "words.txt").unlink()
    assert changes() == [f"file {words} is gone"]
