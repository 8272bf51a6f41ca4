# SPDX-License-Identifier: Apache-2.0
"""Programs that are run as other users, which root can do."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

# In a name space of its own, what Python needs is to be seen in folders that are closed to others.
BEHIND_A_DOOR = """
set -e
closed=$1 door=$2 mask=$3; shift 3
while [ "$1" != -- ]; do
    mkdir -p "$door/$1"
    mount --rbind "$closed/$1" "$door/$1"
    shift
done
[ "$closed" = "" ] || mount --rbind "$door" "$closed"
shift
umask "$mask"
exec setpriv "$@"
"""


def find_closed_folder(path):
    """The highest folder above a path that others may not pass."""
    for folder in reversed(Path(path).parents):
        if not folder.stat().st_mode & 0o001:
            return str(folder)
    return ""


def run_as(user, *words, group=12000, umask="002", **how):
    """Run a program as a user, a number; skip the test where that cannot be."""
    needed = sorted({sys.base_prefix, sys.prefix, str(REPOSITORY)})
    closed = next(filter(None, map(find_closed_folder, needed)), "")
    behind = [os.path.relpath(one, closed) for one in needed if closed and one.startswith(closed)]
    with tempfile.TemporaryDirectory() as door:
        os.chmod(door, 0o755)
        identity = [f"--reuid={user}", f"--regid={group}", "--clear-groups", "--"]
        namespace = ["unshare", "--mount", "sh", "-c", BEHIND_A_DOOR, "sh", closed, door, umask]
        return subprocess.run(
            [*namespace, *behind, "--", *identity, sys.executable, *map(str, words)],
            env={**os.environ, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=100,
            **how,
        )


def skip_unless_possible():
    if os.geteuid() != 0:
        pytest.skip("only root can be other users")
    tried = run_as(12001, "-c", "import stoker.runner, os; assert os.getuid() == 12001")
    if tried.returncode:
        pytest.skip(f"another user cannot run Python here: {tried.stderr.strip()[-200:]}")
