# SPDX-License-Identifier: Apache-2.0
"""Roots where a file that is removed while it is open hides beside the others, or without links."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from stoker.data.column_file import BLOCK_ROWS, ColumnWriter

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("shared_root_pipeline.py")


def mount(*words):
    """Mount something, or skip what needs it."""
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    done = subprocess.run(words, capture_output=True, text=True, timeout=30)
    if done.returncode:
        pytest.skip(f"{words[0]} cannot mount here: {done.stderr.strip() or done.stdout.strip()}")


def mount_bindfs(folder, mounted):
    """FUSE keeps a file that is removed while it is open, as `.fuse_hidden…`."""
    below = folder / "below"
    below.mkdir()
    mount("bindfs", below, mounted)


def mount_exfat(folder, mounted):
    """Over FUSE too, without hard links, owners, and colons in names."""
    image = folder / "image"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    mount("mkfs.exfat", image)
    mount("losetup", "--find", image)
    found = subprocess.run(["losetup", "-j", image], capture_output=True, text=True, check=True)
    device = found.stdout.partition(":")[0]
    try:
        mount("mount.exfat-fuse", device, mounted)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)  # when it is unmounted


@pytest.fixture(params=[mount_bindfs, mount_exfat], ids=["bindfs", "exfat"])
def root(request, tmp_path):
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    request.param(tmp_path, mounted)
    yield mounted / "root"
    subprocess.run(["umount", "--lazy", mounted], check=True)


def run_shared(root, *words):
    root.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, SCRIPT, root, *words], capture_output=True, text=True, timeout=100
    )


def stoker(root, *words):
    command = [sys.executable, "-m", "stoker", *words, "--json", "--root", root]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def test_a_killed_run_is_continued_published_and_cached(root):
    assert run_shared(root, "killed").returncode == -signal.SIGKILL
    resumed = run_shared(root)
    assert resumed.returncode == 0, resumed.stderr
    assert "went on" in resumed.stdout
    assert list((root / ".stoker" / "checkpoints" / "Trainer").iterdir()) == []
    again = run_shared(root)
    assert "[3/3] Pusher cached" in again.stderr
    assert [run["state"] for run in stoker(root, "runs")] == ["complete", "complete", "died"]
    assert stoker(root, "verify")["damage"] == []
    stoker(root, "clean")
    assert not list(root.rglob(".fuse_hidden*"))


def test_columns_that_turn_up_late_are_written(root):
    shard = root / "Split-train" / "part.gz"
    shard.parent.mkdir(parents=True)
    shard.touch()
    with ColumnWriter(str(shard)) as columns:
        for names in ("a", "ab"):
            ones = pa.array([[1]] * BLOCK_ROWS, pa.list_(pa.int64()))
            columns.write(pa.RecordBatch.from_pydict(dict.fromkeys(names, ones)))
    assert [path.name for path in (root / "columns" / "Split-train").iterdir()] == ["part.arrow"]
