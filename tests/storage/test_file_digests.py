# SPDX-License-Identifier: Apache-2.0
"""A file is read again only when its stat has changed, and then always."""

import os
import shutil
import time

import pytest

from stoker.storage import digests
from stoker.storage.digests import FileDigests


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """Where digests are kept, of files that need not be two seconds old."""
    monkeypatch.setattr(digests, "_SETTLED_SECONDS", -1.0)
    return str(tmp_path / "digests.json")


def digest_anew(memory, file):
    """The digest of a file, in a run that knows what the runs before it have kept."""
    digests = FileDigests(memory)
    found = digests(str(file))
    digests.save()
    return found


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "file"
    file.write_text("a = 1")
    return file


def test_a_file_is_read_once(memory, file, monkeypatch):
    first = digest_anew(memory, file)
    monkeypatch.setattr(digests.hashlib, "file_digest", None)
    assert digest_anew(memory, file) == first


def edit_and_touch(file):
    """As `touch -r` after an edit: the size, the inode and both of `utime`'s times are the same."""
    before = file.stat()
    file.write_text("a = 2")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_rename(file):
    other = file.with_name("other")
    other.write_text("a = 2")
    shutil.copystat(file, other)
    other.rename(file)


def edit_with_a_time_in_the_future(file):
    later = time.time() + 1e6
    os.utime(file, (later, later))
    file.write_text("a = 2")
    os.utime(file, (later, later))


@pytest.mark.parametrize(
    "edit", [edit_and_touch, replace_by_rename, edit_with_a_time_in_the_future]
)
def test_an_edit_that_keeps_the_size_is_seen(memory, file, edit):
    first = digest_anew(memory, file)
    edit(file)
    assert digest_anew(memory, file) != first


def test_a_file_that_has_just_changed_is_not_trusted_whatever_its_time_of_modification(
    tmp_path, file
):
    memory = str(tmp_path / "digests.json")
    os.utime(file, (1, 1))
    digest_anew(memory, file)
    assert not os.path.exists(memory)


def test_a_file_of_a_time_that_is_still_to_come_is_not_trusted(tmp_path, file, monkeypatch):
    memory = str(tmp_path / "digests.json")
    yesterday = time.time() - 86400
    monkeypatch.setattr(digests.time, "time", lambda: yesterday)  # the clock was set back
    digest_anew(memory, file)
    assert not os.path.exists(memory)


def test_what_has_no_content_is_said_to_be_missing_or_no_file(memory, tmp_path):
    assert digest_anew(memory, tmp_path / "nothing") == "missing"
    os.mkfifo(tmp_path / "pipe")
    assert digest_anew(memory, tmp_path / "pipe") == "not a file"
