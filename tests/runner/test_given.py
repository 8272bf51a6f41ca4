"""What a program was given, compared with what an earlier run has noted."""

import os

import pytest

from stoker.any_python.notes import digest_text
from stoker.runner.cache import Given


@pytest.fixture
def given(tmp_path):
    (tmp_path / "there").write_text("1")
    values = {"flag lr": "0.1", "variable RATE": digest_text("1"), "command line": "a"}
    return Given(values=values, not_users=(), digest=lambda _: "digest")


def test_what_is_as_it_was_noted_is_no_change(given, tmp_path):
    notes = {
        "flag lr": "0.1",
        "flag unset": "",
        "variable RATE": digest_text("1"),
        f"file {tmp_path / 'there'}": "digest",
        f"file {tmp_path / 'nowhere'}": "missing",
        f"presence of {tmp_path / 'there'}": "there",
        f"folder {tmp_path}": digest_text("there"),
    }
    assert given.describe_changes(notes) == []


@pytest.mark.parametrize(
    ("name", "then", "words"),
    [
        ("flag lr", "0.9", "flag --lr changed: 0.1, was 0.9"),
        ("flag unset", "1", "flag --unset changed: not set, was 1"),
        ("flag api_token", "digest x", "flag --api_token changed"),
        ("variable RATE", "x", "environment variable RATE changed"),
        ("command line", "x", "the command line, which the code reads, changed"),
        ("file there", "x", "file there changed"),
        ("file nowhere", "x", "file nowhere is gone"),
        ("presence of there", "missing", "there is there now"),
        ("presence of nowhere", "there", "nowhere is gone now"),
        ("folder .", "x", "folder ., which the code lists, has other files"),
    ],
)
def test_a_change_is_said_in_words(given, tmp_path, monkeypatch, name, then, words):
    monkeypatch.chdir(tmp_path)
    assert given.describe_changes({name: then}) == [words]


def test_a_pipe_among_the_files_is_not_waited_for(given, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert given.describe_changes({f"file {tmp_path / 'pipe'}": "x"})
