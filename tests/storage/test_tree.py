# SPDX-License-Identifier: Apache-2.0
"""What is below a folder, and copies of it."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from stoker.storage.files import UnfitFile, copy_tree, list_tree


@pytest.fixture
def output(tmp_path) -> Path:
    """An output with two files, one of them in a folder."""
    folder = tmp_path / "Trainer" / "model" / "1"
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_text("graph")
    (folder / "variables" / "weights").write_text("1234")
    return folder


@pytest.fixture
def outside(tmp_path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_text("mine")
    return folder


def misfits(folder, **how):
    return {Path(path).name: what for path, what in list_tree(str(folder), **how).misfits.items()}


def test_files_are_listed_by_their_paths_and_folders_if_they_are_empty(output):
    (output / "assets").mkdir()
    tree = list_tree(str(output))
    assert tree.files == ("saved_model.pb", "variables/weights")
    assert tree.empty_folders == ("assets",)
    assert tree.folders == ["", "assets", "variables"]


def test_one_file_is_a_tree_and_so_is_nothing(output):
    assert list_tree(str(output / "saved_model.pb")).files == ("saved_model.pb",)
    assert list_tree(str(output / "nothing")).files == ()


def test_links_that_stay_inside_are_what_they_lead_to(output):
    (output / "latest").symlink_to("variables")
    (output / "graph").symlink_to(output / "saved_model.pb")
    assert list_tree(str(output)).files == (
        "graph",
        "latest/weights",
        "saved_model.pb",
        "variables/weights",
    )


def test_an_output_behind_a_link_to_the_root_is_as_any(output, tmp_path):
    (tmp_path / "root").symlink_to(tmp_path / "Trainer")
    (output / "graph").symlink_to(output / "saved_model.pb")
    assert misfits(tmp_path / "root" / "model" / "1") == {}


@pytest.mark.parametrize("target", ["file", "."])
def test_links_that_lead_out_are_named_unless_the_files_are_the_users_own(output, outside, target):
    (output / "link").symlink_to(outside / target)
    assert misfits(output)["link"].startswith(f"a link to {outside}")
    (found,) = [one for one in list_tree(str(output), confined=False).files if "link" in one]
    assert (output / found).read_text() == "mine"


def test_an_output_that_is_itself_a_link_to_elsewhere_is_named(output, outside):
    output.rename(output.parent / "2")
    output.symlink_to(outside)
    assert misfits(output)["1"].startswith("a link to")


def test_a_value_that_is_a_link_to_elsewhere_is_named(tmp_path, outside):
    (tmp_path / "value").symlink_to(outside / "file")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "value").symlink_to(outside / "file")
    assert "value" in misfits(tmp_path / "deeper" / "value")


def test_links_in_a_circle_are_named(output):
    (output / "variables" / "up").symlink_to("..")
    (output / "self").symlink_to("self")
    (output / "nowhere").symlink_to("nothing")
    assert misfits(output, confined=False) == {
        "up": "a link to a folder that it is in itself",
        "self": "a link to itself",
        "nowhere": "a link to nothing",
    }


def test_what_is_no_file_is_named_and_never_opened(output, monkeypatch):
    os.mkfifo(output / "pipe")
    (output / "device").symlink_to("/dev/null")
    monkeypatch.chdir(output)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("listening")
        assert misfits(output, confined=False) == {
            "pipe": "a FIFO",
            "device": "a device",
            "listening": "a socket",
        }


def test_what_does_not_fit_is_refused_with_what_to_do(output):
    os.mkfifo(output / "pipe")
    with pytest.raises(UnfitFile, match=r"pipe is a FIFO.*keep it elsewhere"):
        list_tree(str(output)).refuse_misfits()


def test_caches_and_files_that_were_deleted_while_open_do_not_count(output):
    (output / "columns" / "Split-train").mkdir(parents=True)
    (output / "columns" / "Split-train" / "0.arrow").touch()
    (output / f".nfs{'0' * 24}").touch()
    (output / f".fuse_hidden{'0' * 16}").touch()
    tree = list_tree(str(output))
    assert (tree.files, tree.empty_folders) == (("saved_model.pb", "variables/weights"), ())
    (output / "columns" / "Split-train" / "0.arrow").unlink()
    assert list_tree(str(output)) == tree


def test_a_copy_has_files_where_links_were_and_the_modes(output, tmp_path):
    (output / "assets").mkdir(mode=0o750)
    (output / "latest").symlink_to("variables")
    (output / "saved_model.pb").chmod(0o640)
    copy_tree(str(output), str(tmp_path / "copy"))
    copy = tmp_path / "copy"
    assert (copy / "latest" / "weights").read_text() == "1234"
    assert not (copy / "latest").is_symlink()
    assert (copy / "saved_model.pb").stat().st_mode & 0o777 == 0o640
    assert (copy / "assets").stat().st_mode & 0o777 == 0o750


def test_to_write_to_a_copy_leaves_the_original_as_it_is(output, tmp_path):
    copy_tree(str(output), str(tmp_path / "copy"))
    with open(tmp_path / "copy" / "saved_model.pb", "r+") as file:
        file.write("other")
    assert (output / "saved_model.pb").read_text() == "graph"


def test_no_part_of_a_tree_is_copied_if_there_is_anything_unfit(output, tmp_path):
    os.mkfifo(output / "variables" / "pipe")
    with pytest.raises(UnfitFile, match="pipe is a FIFO"):
        copy_tree(str(output), str(tmp_path / "copy"))
    assert not (tmp_path / "copy").exists()


@pytest.fixture
def btrfs(tmp_path) -> Path:
    """A file system that can share blocks, where this machine lets us mount one."""
    image, mounted = tmp_path / "image", tmp_path / "mounted"
    mounted.mkdir()
    image.touch()
    os.truncate(image, 128 << 20)
    try:
        subprocess.run(["mkfs.btrfs", "-q", image], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", image, mounted], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"cannot mount btrfs: {error}")
    yield mounted
    subprocess.run(["umount", mounted], check=True)


def test_a_copy_takes_no_room_where_the_file_system_can_share_blocks(btrfs):
    (btrfs / "model").mkdir()
    (btrfs / "model" / "weights").write_bytes(os.urandom(20 << 20))
    os.sync()
    before = os.statvfs(btrfs).f_bfree
    copy_tree(str(btrfs / "model"), str(btrfs / "copy"))
    os.sync()
    used = (before - os.statvfs(btrfs).f_bfree) * os.statvfs(btrfs).f_frsize
    assert (btrfs / "copy" / "weights").read_bytes() == (btrfs / "model" / "weights").read_bytes()
    assert used < 2 << 20
