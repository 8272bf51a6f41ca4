# SPDX-License-Identifier: Apache-2.0
"""Files that are written whole or not at all."""

import os
import stat

import pytest

from stoker.storage.files import write_whole


def write(path, content, **how):
    with write_whole(str(path), **how) as file:
        file.write(content)


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_has_its_name_when_all_of_it_is_written(tmp_path, durable):
    path = tmp_path / "new" / "file"
    with write_whole(str(path), durable=durable) as file:
        file.write(b"half")
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert os.listdir(path.parent) == ["file"]


def test_what_stops_the_writing_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "file"
    write(path, b"old")
    with pytest.raises(TypeError):
        write(path, "no bytes")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_others_may_read_it_as_they_may_read_any_new_file(tmp_path):
    write(tmp_path / "file", b"")
    (tmp_path / "plain").touch()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file", "plain")}
    assert len(modes) == 1
