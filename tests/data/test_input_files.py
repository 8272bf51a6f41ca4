# SPDX-License-Identifier: Apache-2.0
"""What else than files may lie among the data: it is named, and nothing waits for it."""

import gzip
import os
import socket

import pytest

from stoker.data.input_files import estimate_lines, matching_files
from stoker.errors import BadData


def link_to_nothing(path):
    os.symlink("nowhere.csv", path)


def named_pipe(path):
    os.mkfifo(path)


def bound_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path)


def link_to_a_device(path):
    os.symlink("/dev/zero", path)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (link_to_nothing, "is a link to nowhere.csv, which is not there"),
        (named_pipe, "is a named pipe"),
        (bound_socket, "is a socket"),
        (link_to_a_device, "is a device"),
    ],
)
def test_what_is_no_file_is_named(tmp_path, monkeypatch, make, says):
    monkeypatch.chdir(tmp_path)  # a socket's path may not be long
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").touch()
    make("data/b.csv")
    for pattern in ("data", "data/*", "data/b.csv"):
        with pytest.raises(BadData, match=rf"data/b\.csv {says}, and no file with data"):
            matching_files(pattern)
    assert matching_files("data/a*") == ["data/a.csv"]


def test_links_to_files_are_data_and_folders_are_not(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.csv").touch()
    (tmp_path / "b.csv").symlink_to("a.csv")
    assert matching_files(str(tmp_path)) == [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_the_number_of_lines_is_estimated_from_the_beginning(tmp_path, compress):
    rows = b"".join(b"%d,%d\n" % (number, number * 7919 % 10_000) for number in range(300_000))
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(compress(rows))
    files = [str(tmp_path / name) for name in ("a", "b")]
    assert estimate_lines(files) == pytest.approx(600_000, rel=0.2)


def test_there_is_no_estimate_for_an_empty_file(tmp_path):
    (tmp_path / "empty").touch()
    assert estimate_lines([str(tmp_path / "empty")]) is None
