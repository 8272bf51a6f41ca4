# SPDX-License-Identifier: Apache-2.0
"""Small files of Stoker's own that something has damaged: each is named, and wedges nothing."""

import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from stoker.artifacts import Model
from stoker.components.pusher import push
from stoker.dsl import OutputArtifact, Pipeline, component
from stoker.errors import StoreError
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner

pytestmark = pytest.mark.slow


@component
def write(model: OutputArtifact[Model]):
    Path(model.uri, "model").write_text("hello")


@pytest.fixture
def root(tmp_path):
    return tmp_path / "root"


def run(root):
    pipeline = Pipeline("models", str(root), components=[write()], enable_cache=True)
    return LocalDagRunner(InProcess()).run(pipeline)


def make_directory(path):
    path.mkdir()
    (path / "file").touch()


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_text('{"/a": ["1", "2'),
    "list": lambda path: path.write_text("[]"),
    "number": lambda path: path.write_text("1"),
    "other values": lambda path: path.write_text('{"/a": 1}'),
    "too many values": lambda path: path.write_text('{"/a": ["1", "2", "3"]}'),
    "numbers": lambda path: path.write_text('{"/a": [1, 2]}'),
    "deep": lambda path: path.write_text("[" * 100_000),
    "bytes": lambda path: path.write_bytes(bytes(range(256))),
    "directory": make_directory,
}


@pytest.fixture(params=DAMAGE.values(), ids=DAMAGE)
def damage(request):
    return request.param


def test_digests_that_are_damaged_are_set_aside_and_made_again(root, damage, capsys):
    run(root)
    digests = root / ".stoker" / "digests.json"
    digests.unlink(missing_ok=True)
    damage(digests)
    run(root)
    said = capsys.readouterr().err
    assert f"{digests} is damaged, and was renamed to {digests}.damaged-1" in said
    assert "[1/1] write cached" in said
    run(root)
    assert "is damaged" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "where",
    [lambda folder: folder / "last.txt", lambda folder: folder / "served" / ".last_push"],
    ids=["today", "old"],
)
def test_a_push_goes_on_after_the_highest_version_where_the_last_is_damaged(
    tmp_path, damage, where, capsys
):
    base, model = tmp_path / "served", tmp_path / "model"
    model.mkdir()
    (base / "7000000000").mkdir(parents=True)
    last_push = where(tmp_path)
    damage(last_push)
    places = {"last_push": str(tmp_path / "last.txt"), "scratch_dir": str(tmp_path)}
    assert push(str(model), str(base), **places) == 7000000001
    assert push(str(model), str(base), **places) == 7000000002
    assert (tmp_path / "last.txt").read_text() == "7000000002\n"
    assert sorted(os.listdir(base)) == ["7000000000", "7000000001", "7000000002"]
    assert capsys.readouterr().out.count("is damaged, and was renamed to") <= 1


def scribble(database):
    database.write_bytes(os.urandom(100_000))


def truncate(database):
    os.truncate(database, database.stat().st_size // 2)


@pytest.mark.parametrize("spoil", [scribble, truncate])
def test_a_store_that_is_damaged_says_the_command_that_helps(root, spoil):
    first = run(root)
    spoil(root / "metadata.db")
    with pytest.raises(StoreError, match="begins a new one: mv ") as refused:
        run(root)
    command = str(refused.value).rpartition(": ")[2]
    subprocess.run(command, shell=True, check=True)
    second = run(root)
    assert (root / "metadata.db.damaged").exists()
    assert second.outputs["write"]["model"][0].uri != first.outputs["write"]["model"][0].uri


def test_another_program_s_database_is_left_alone(root):
    root.mkdir()
    with sqlite3.connect(root / "metadata.db") as database:
        database.execute("CREATE TABLE Pictures (id INTEGER)")
    database.close()
    with pytest.raises(StoreError, match="not a metadata store: it has the tables Pictures"):
        run(root)


def test_a_store_of_no_length_is_a_new_one(root):
    root.mkdir()
    (root / "metadata.db").touch()
    run(root)
