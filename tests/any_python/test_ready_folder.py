# SPDX-License-Identifier: Apache-2.0
"""The folder of a model is there, for those who write into it and for those who make it."""

import os
import pathlib
import shutil

import pytest

from stoker.any_python import fileio
from stoker.any_python.surroundings import keep_ready

WAYS = {
    "os.mkdir": lambda folder: os.mkdir(folder),
    "os.makedirs": lambda folder: os.makedirs(folder),
    "os.makedirs in bytes": lambda folder: os.makedirs(os.fsencode(folder)),
    "Path.mkdir": lambda folder: pathlib.Path(folder).mkdir(),
    "Path.mkdir with parents": lambda folder: pathlib.Path(folder).mkdir(parents=True),
    "a relative path": lambda folder: os.makedirs(os.path.relpath(folder)),
    "fileio.mkdir": fileio.mkdir,
    "shutil.copytree": lambda folder: shutil.copytree(_make_saved(folder), folder),
    "shutil.move": lambda folder: shutil.move(_make_saved(folder), folder),
    "fileio.rename": lambda folder: fileio.rename(_make_saved(folder), folder),
    "os.rename": lambda folder: os.rename(_make_saved(folder), folder),
}
"""How modules make the folder. Functions are looked up when they are called."""


def _make_saved(folder):
    saved = pathlib.Path(folder).parent.parent / "saved"
    saved.mkdir()
    (saved / "model.txt").write_text("a model")
    return str(saved)


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "model" / "4" / "Format-Serving")


def test_code_may_write_into_it_straight_away(folder):
    with keep_ready(folder), open(os.path.join(folder, "model.txt"), "w") as file:
        file.write("a model")
    assert os.listdir(folder) == ["model.txt"]


@pytest.mark.parametrize("way", WAYS)
def test_code_may_make_it(folder, way):
    with keep_ready(folder):
        WAYS[way](folder)
        pathlib.Path(folder, "more.txt").touch()
    assert set(os.listdir(folder)) - {"more.txt"} <= {"model.txt"}  # and not saved/model.txt


def test_a_file_is_moved_into_it(folder, tmp_path):
    (tmp_path / "model.txt").touch()
    with keep_ready(folder):
        shutil.move(str(tmp_path / "model.txt"), folder)
    assert os.listdir(folder) == ["model.txt"]


@pytest.mark.parametrize("first", ["os.mkdir", "os.makedirs", "Path.mkdir"])
def test_who_makes_it_twice_is_told_as_ever(folder, first):
    with keep_ready(folder):
        WAYS[first](folder)
        with pytest.raises(FileExistsError):
            os.mkdir(folder)


def test_who_removes_it_makes_it_once(folder):
    with keep_ready(folder):
        shutil.rmtree(folder)
        os.makedirs(folder)
        with pytest.raises(FileExistsError):
            os.makedirs(folder)


def test_it_is_not_made_where_something_is_in_it(folder):
    with keep_ready(folder):
        pathlib.Path(folder, "model.txt").touch()
        with pytest.raises(FileExistsError):
            os.makedirs(folder)
    assert os.listdir(folder) == ["model.txt"]


def test_other_folders_are_made_as_ever(folder, tmp_path):
    with keep_ready(folder):
        os.mkdir(tmp_path / "other")
        with pytest.raises(FileExistsError):
            os.mkdir(tmp_path / "other")
        with pytest.raises(FileNotFoundError):
            pathlib.Path(tmp_path, "none", "below").mkdir()


def test_nothing_empty_is_left_and_all_is_as_before(folder):
    before = os.mkdir, shutil.move
    with keep_ready(folder):
        pass
    assert not os.path.exists(folder)
    assert (os.mkdir, shutil.move) == before


def test_one_that_was_there_before_is_left_alone(folder):
    os.makedirs(folder)
    with keep_ready(folder), pytest.raises(FileExistsError):
        os.mkdir(folder)
    assert os.path.isdir(folder)
