# SPDX-License-Identifier: Apache-2.0
"""Where pipeline roots lie: in a folder of the local disk, and in one on FUSE."""

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def mount_fuse(mounted: Path, backing: Path) -> Iterator[str]:
    """A folder on FUSE while the work inside lasts; gives the reason if there can be none."""
    reason = find_no_fuse_reason()
    if reason:
        yield reason
        return
    unmount(mounted)  # what a soak that was killed has left
    mounted.mkdir(parents=True, exist_ok=True)
    backing.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        ["bindfs", "--no-allow-other", str(backing), str(mounted)], capture_output=True, text=True
    )
    if made.returncode:
        yield f"bindfs cannot mount: {made.stderr.strip()}"
        return
    try:
        yield ""
    finally:
        unmount(mounted)


def find_no_fuse_reason() -> str:
    """Why there is no FUSE here; empty if there is."""
    if not Path("/dev/fuse").exists():
        return "there is no /dev/fuse"
    if not shutil.which("bindfs"):
        return "bindfs is not installed"
    return ""


def unmount(mounted: Path) -> None:
    """Nothing happens if nothing is mounted; what is busy has a moment to end."""
    for _ in range(50):
        done = subprocess.run(["fusermount3", "-u", str(mounted)], capture_output=True, text=True)
        if "busy" not in done.stderr:
            return
        time.sleep(0.1)
    subprocess.run(["fusermount3", "-u", "-z", str(mounted)], capture_output=True)
