# SPDX-License-Identifier: Apache-2.0
import csv
import json
import pickle

import pytest
from tfx.dsl.io import fileio


def write(path, text="hello") -> str:
    with fileio.open(str(path), "w") as file:
        file.write(text)
    return str(path)


def read(path) -> str:
    with fileio.open(str(path)) as file:
        return file.read()


def test_text_is_read_back_as_it_was_written(tmp_path):
    assert read(write(tmp_path / "a", "Grüße")) == "Grüße"


def test_bytes_are_read_back_as_they_were_written(tmp_path):
    with fileio.open(tmp_path / "a", "wb") as file:
        file.write(b"\x00\xff")

    with fileio.open(tmp_path / "a", "rb") as file:
        assert file.read() == b"\x00\xff"


def test_directories_are_made_and_listed(tmp_path):
    fileio.makedirs(tmp_path / "x/y")
    fileio.makedirs(tmp_path / "x/y")
    fileio.mkdir(tmp_path / "x/z")

    assert fileio.isdir(tmp_path / "x/y")
    assert fileio.listdir(tmp_path / "x") == ["y", "z"]


def test_mkdir_refuses_a_directory_that_exists(tmp_path):
    with pytest.raises(FileExistsError):
        fileio.mkdir(tmp_path)


def test_glob_takes_one_pattern_or_several(tmp_path):
    one, two = write(tmp_path / "b.csv"), write(tmp_path / "a.txt")

    assert fileio.glob(f"{tmp_path}/*.csv") == [one]
    assert fileio.glob([f"{tmp_path}/*.csv", f"{tmp_path}/*"]) == [two, one]


def test_walk_visits_every_directory(tmp_path):
    fileio.makedirs(tmp_path / "x")
    write(tmp_path / "x/file")

    assert list(fileio.walk(str(tmp_path))) == [
        (str(tmp_path), ["x"], []),
        (f"{tmp_path}/x", [], ["file"]),
    ]


@pytest.mark.parametrize("operation", [fileio.copy, fileio.rename])
def test_what_exists_is_replaced_only_when_asked(tmp_path, operation):
    new, old = write(tmp_path / "new", "new"), write(tmp_path / "old", "old")

    with pytest.raises(FileExistsError, match="overwrite=True"):
        operation(new, old)
    operation(new, old, overwrite=True)

    assert read(old) == "new"


def test_files_and_directories_are_removed(tmp_path):
    fileio.makedirs(tmp_path / "x")
    fileio.remove(write(tmp_path / "a"))
    fileio.rmtree(tmp_path / "x")

    assert not fileio.exists(tmp_path / "a")
    assert not fileio.exists(tmp_path / "x")


def test_stat_tells_the_size(tmp_path):
    assert fileio.stat(write(tmp_path / "a", "12345")).st_size == 5


def test_a_file_that_is_not_there_is_a_not_found_error(tmp_path):
    with pytest.raises(fileio.NotFoundError):
        fileio.open(tmp_path / "nothing")


@pytest.mark.parametrize("operation", [fileio.open, fileio.exists, fileio.glob, fileio.makedirs])
def test_a_place_that_nobody_knows_is_refused_with_advice(operation):
    with pytest.raises(ValueError, match=r"nowhere://.*Copy or mount it"):
        operation("nowhere://bucket/file")


def test_files_in_a_bucket_are_handled_like_files_here(tmp_path):
    base = "memory://bucket/folder"
    fileio.makedirs(f"{base}/x")
    one = write(f"{base}/x/one.csv", "Grüße\n")
    two = write(f"{base}/two.csv", "12345")

    assert read(one) == "Grüße\n"
    assert fileio.stat(two).length == 5
    assert fileio.listdir(base) == ["two.csv", "x"]
    assert fileio.isdir(f"{base}/x")
    assert fileio.glob(f"{base}/*.csv") == [two]
    assert list(fileio.walk(base)) == [(base, ["x"], ["two.csv"]), (f"{base}/x", [], ["one.csv"])]
    with fileio.open(two, "rb") as file:
        assert file.size() == 5
        assert file.seek(-1, 2) == 4
        assert file.read() == b"5"

    fileio.copy(two, tmp_path / "here")
    fileio.rename(tmp_path / "here", f"{base}/back")
    fileio.rename(f"{base}/x", f"{base}/y")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        fileio.copy(one.replace("/x/", "/y/"), two)
    assert fileio.listdir(base) == ["back", "two.csv", "y"]
    assert read(f"{base}/y/one.csv") == "Grüße\n"

    fileio.remove(two)
    fileio.rmtree(f"{base}/y")
    assert fileio.listdir(base) == ["back"]
    with pytest.raises(fileio.NotFoundError):
        fileio.open(two)


def test_an_open_file_has_what_a_gfile_has(tmp_path):
    with fileio.open(tmp_path / "a", "w") as file:
        assert file.write("first\nsecond\r\n") == 14
        file.write(b"third")
        assert file.size() == 19
        file.flush()

    with fileio.open(tmp_path / "a") as file:
        assert (file.read(2), file.tell(), file.size()) == ("fi", 2, 19)
        assert file.seekable()
        file.seek(0)
        assert file.next() == "first\n"
        assert file.tell() == 6
        assert next(file) == "second\r\n"
        file.seek(-5, 2)
        assert file.readline() == "third"
        file.seek(offset=6)
        file.seek(1, whence=1)
        assert file.readlines() == ["econd\r\n", "third"]
        file.seek(position=0)
        assert list(file) == ["first\n", "second\r\n", "third"]
    assert file.closed


def test_a_file_of_bytes_takes_text_and_can_be_appended_to(tmp_path):
    with fileio.open(tmp_path / "a", "wb") as file:
        file.write("é")
    with fileio.open(tmp_path / "a", "ab") as file:
        file.write(b"!")
    with fileio.open(tmp_path / "a", "rb") as file:
        file.seek(-1, 2)
        assert file.read(n=1) == b"!"
        assert file.size() == 3


def test_other_libraries_read_and_write_open_files(tmp_path):
    with fileio.open(tmp_path / "a", "w") as file:
        json.dump({"a": 1}, file)
    with fileio.open(tmp_path / "a") as file:
        assert json.load(file) == {"a": 1}
    with fileio.open(tmp_path / "b", "wb") as file:
        pickle.dump([1], file)
    with fileio.open(tmp_path / "b", "rb") as file:
        assert pickle.load(file) == [1]
    write(tmp_path / "c", "x,y\n1,2\n")
    with fileio.open(tmp_path / "c") as file:
        assert list(csv.reader(file)) == [["x", "y"], ["1", "2"]]


def test_stat_has_tensorflows_names_too(tmp_path):
    found = fileio.stat(write(tmp_path / "a", "12345"))
    assert (found.length, found.is_directory) == (5, False)
    assert found.mtime_nsec == found.st_mtime_ns
    assert fileio.stat(tmp_path).is_directory
