"""The scratch folder of a run: it goes with the run, or before the next one."""

import os
import subprocess
import sys
import tempfile
from multiprocessing.connection import Listener
from pathlib import Path

import pytest

from stoker.storage.locks import hold_run_lock
from stoker.storage.root import Root
from stoker.storage.scratch import find_abandoned, hold_scratch


@pytest.fixture
def base():
    """A folder whose path is short, as pytest's are not."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def system_tmp(base, monkeypatch):
    """A temporary folder of the system that is empty at first."""
    (base / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(base / "tmp"))
    return base / "tmp"


def test_it_is_removed_with_what_is_in_it_when_the_run_ends(base):
    root = Root(str(base / "root"))
    with hold_run_lock(root) as run_id, hold_scratch(root, run_id) as folder:
        Path(folder, "left").touch()
        assert folder.startswith(root.path)
        assert find_abandoned(root) == []
    assert os.listdir(os.path.join(root.own_dir, "tmp")) == []


@pytest.mark.parametrize("name", ["short", "x" * 120])
def test_of_a_killed_run_it_goes_when_the_next_one_begins(base, system_tmp, name):
    root = Root(str(base / name))
    killed = f"""
import os, signal, tempfile
from stoker.storage.locks import hold_run_lock
from stoker.storage.root import Root
from stoker.storage.scratch import hold_scratch
root = Root({root.path!r})
with hold_run_lock(root) as run_id, hold_scratch(root, run_id) as folder:
    open(os.path.join(folder, "left"), "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run(
        [sys.executable, "-c", killed],
        env={**os.environ, "TMPDIR": str(system_tmp)},
        check=False,
    )
    assert find_abandoned(root)
    with hold_run_lock(root) as run_id, hold_scratch(root, run_id):
        assert find_abandoned(root) == []
    assert os.listdir(os.path.join(root.own_dir, "tmp")) == []
    assert os.listdir(system_tmp) == []


def test_sockets_fit_into_it_however_long_the_path_of_the_root_is(base, system_tmp):
    root = Root(str(base / ("x" * 120)))
    with hold_run_lock(root) as run_id, hold_scratch(root, run_id) as folder:
        made = tempfile.mkdtemp(prefix="pymp-", dir=folder)
        Listener(os.path.join(made, "listener-12345678")).close()
    assert os.listdir(system_tmp) == []
