"""kill -9 of the runner, the fork server or a worker at random moments: the next run ends well."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from stoker.artifacts import Artifact, State
from stoker.dsl import Pipeline
from stoker.metadata.records import ExecutionState
from stoker.metadata.store import Store
from stoker.storage.manifest import Manifest, describe
from stoker.storage.root import manifest_file

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("crash_pipeline.py")
KILLS = int(os.environ.get("STOKER_KILLS", "50"))


def start(root, salt, mark):
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(root), salt],
        env={**os.environ, "STOKER_TEST_MARK": mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def children_of(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def marked(mark):
    """The processes that a run started, and itself: they have inherited its mark."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"STOKER_TEST_MARK={mark}".encode() in environ.read_bytes():
                found.append(environ.parent.name)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def kill_at_random(process, chance):
    """Wait a random while, then kill -9 the runner, a fork server or a worker of it."""
    time.sleep(chance.uniform(0, 1.5))
    servers = children_of(process.pid)
    workers = [worker for server in servers for worker in children_of(server)]
    victims = chance.choice([group for group in ([process.pid], servers, workers) if group])
    with contextlib.suppress(ProcessLookupError):  # it ended by itself in the meantime
        os.kill(chance.choice(victims), signal.SIGKILL)
    process.communicate(timeout=60)


def open_store(root):
    return Store(Pipeline("crash", str(root)).store_config(str(root)))


def check_everything_live(root):
    """No LIVE artifact lacks a file or differs from its manifest; no execution is left open."""
    with open_store(root) as store:
        live: list[Artifact] = store.artifacts(states=[State.LIVE])
        for artifact in live:
            assert describe(artifact.uri) == Manifest.read(manifest_file(artifact.uri)), artifact
        assert live
        assert store.artifacts(states=[State.PENDING]) == []
        assert store.executions(states=[ExecutionState.RUNNING]) == []


def check_pushed(root):
    """Every version in the served folder is whole."""
    versions = [path for path in (root / "served").iterdir() if not path.name.startswith(".")]
    assert versions
    for version in versions:
        assert (version / "complete").read_text() == "20"
        assert len(list(version.glob("weights-*"))) == 20


def wait_until_gone(mark):
    deadline = time.monotonic() + 20
    while left := marked(mark):
        assert time.monotonic() < deadline, f"left behind: {left}"
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc")
def test_every_kill_is_survived(tmp_path):
    chance = random.Random(7)
    root = tmp_path / "root"
    for number in range(KILLS):
        mark = uuid.uuid4().hex
        salt = str(number // 3)  # every third time something changed
        kill_at_random(start(root, salt, mark), chance)
        wait_until_gone(mark)
        again = start(root, salt, mark)
        _, err = again.communicate(timeout=60)
        assert again.returncode == 0, err
        check_everything_live(root)
        check_pushed(root)
        wait_until_gone(mark)
