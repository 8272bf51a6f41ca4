"""Temporary folders of a program's own: gone with it, or, if it was killed, with the next one."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from stoker.any_python.temporary import make_temporary_dir, remove_abandoned_dirs

MAKE = """
import os, signal, sys
from stoker.any_python.temporary import make_temporary_dir
folder = make_temporary_dir()
open(os.path.join(folder, "left"), "w").close()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """A temporary folder that is empty at first, also for the programs that are started."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def run(program: str) -> int:
    return subprocess.run([sys.executable, "-c", program], check=False).returncode


def test_a_program_that_ends_leaves_nothing(temporary):
    assert run(MAKE) == 0
    assert run(f"{MAKE}\nraise SystemExit(3)") == 3
    assert os.listdir(temporary) == []


def test_an_executor_that_is_called_by_itself_leaves_nothing(temporary):
    context = "from stoker.dsl.executor import BaseExecutor; BaseExecutor.Context().get_tmp_path()"
    assert run(context) == 0
    assert os.listdir(temporary) == []


def test_what_a_killed_program_left_goes_with_the_next(temporary):
    assert run(f"{MAKE}\nos.kill(os.getpid(), signal.SIGKILL)") == -signal.SIGKILL
    assert len(os.listdir(temporary)) == 1

    remove_abandoned_dirs()

    assert os.listdir(temporary) == []


def test_a_child_that_ends_leaves_its_parents_folder(temporary):
    child_ends = "if not (child := os.fork()): sys.exit()"
    look = f"{MAKE}\n{child_ends}\nos.waitpid(child, 0)\nassert os.listdir(folder)"
    assert run(look) == 0
    assert os.listdir(temporary) == []


def test_others_are_left_alone_as_long_as_they_live(temporary):
    mine = make_temporary_dir()
    of_a_user = tempfile.mkdtemp(prefix="stoker-")
    assert run(MAKE) == 0
    assert {mine, of_a_user} == {entry.path for entry in os.scandir(temporary)}


def test_links_to_roots_that_are_gone_go_too(temporary):
    (temporary / "root").mkdir()
    os.symlink(temporary / "root", temporary / "stoker-1-there")
    os.symlink(temporary / "gone", temporary / "stoker-1-gone")
    remove_abandoned_dirs()
    assert sorted(os.listdir(temporary)) == ["root", "stoker-1-there"]
