# SPDX-License-Identifier: Apache-2.0
"""A run over a bucket is killed at one of its requests, again and again: nothing is half there.

STOKER_KILLS says how often; the requests are those of staging, uploading and publishing.
"""

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from bucket_server import Proxy, serve, variables_for

from stoker.artifacts import State
from stoker.metadata.config import sqlite_metadata_connection_config
from stoker.metadata.store import Store
from stoker.storage.digests import Manifest

pytestmark = pytest.mark.envs

KILLS = int(os.environ.get("STOKER_KILLS", "4"))
IN_PROCESS = ["--in-process"] if KILLS > 20 else []  # thousands of processes take long
PROGRAM = Path(__file__).with_name("bucket_pipeline.py")
SCHEMA = b'feature { name: "x" type: INT }\nfeature { name: "y" type: BYTES }\n'


@pytest.fixture(scope="module")
def proxy():
    with serve() as server, Proxy(server.port) as proxy:
        yield proxy


class Killer:
    """Kills a process when a request of a certain number comes by, or a moment later."""

    def __init__(self, process, number, delay):
        self.process, self.number, self.delay = process, number, delay
        self.at = ""
        self._seen = 0

    def __call__(self, _, kind, path):
        self._seen += 1
        if self._seen == self.number:
            self.at = f"{kind} {path.partition('?')[0]}"
            threading.Timer(self.delay, self.process.send_signal, [signal.SIGKILL]).start()
        return ""


def start(tmp_path, proxy):
    command = [sys.executable, str(PROGRAM), "s3://kills", str(tmp_path / "m.db"), *IN_PROCESS]
    return subprocess.Popen(
        command,
        env=variables_for(proxy, str(tmp_path / "cache")),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def check(tmp_path, files):
    """What is published is whole, and the cache holds what it says."""
    with Store(sqlite_metadata_connection_config(tmp_path / "m.db")) as store:
        live = [one for one in store.artifacts(states=(State.LIVE,)) if "/root/" in one.uri]
    for artifact in live:
        folder = artifact.uri.removesuffix("/value")[5:]
        node, key, number = folder.split("/")[-3:]
        path = f"kills/root/.stoker/manifests/{node}/{key}/{number}.json"
        manifest = Manifest.from_json(files.cat_file(path), path)
        assert manifest.digest == artifact.custom_properties["content_digest"]
        for entry in manifest.files:
            found = files.cat_file(f"{folder}/{entry.path}")
            assert hashlib.sha256(found).hexdigest() == entry.sha256, f"{folder}/{entry.path}"
    for path in (tmp_path / "cache").glob("files/??/*"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    for name in files.ls("kills/served", detail=False) if files.exists("kills/served") else ():
        names = {one.rpartition("/")[2] for one in files.find(name)}
        assert "names.txt" in names or "push.json" in names
    return len(live)


def test_whatever_a_kill_interrupts_the_next_run_ends_well(proxy, tmp_path):
    import s3fs

    files = s3fs.S3FileSystem(
        use_listings_cache=False,
        skip_instance_cache=True,
        endpoint_url=f"http://127.0.0.1:{proxy.server_port}",
        key="testing",
        secret="testing",
    )
    files.mkdir("kills")
    files.pipe_file("kills/schema/schema.pbtxt", SCHEMA)
    random.seed(int(os.environ.get("STOKER_SEED", "19")))
    places, total, num_killed = {}, 60, 0
    number = 0
    while num_killed < KILLS:
        number += 1
        rows = b"".join(b"%d,w%d\n" % (i * number, i % 3) for i in range(200))
        files.pipe_file("kills/data/a.csv", b"x,y\n" + rows)
        process = start(tmp_path, proxy)
        killer = Killer(process, random.randint(1, total), random.choice((0, 0, 0.02, 0.1)))
        proxy.reset()
        proxy.faults[:] = [killer]
        output, _ = process.communicate(timeout=120)
        proxy.faults.clear()
        if process.returncode == 0:  # it was done before the request came
            total = max(30, proxy.requests.total())
            continue
        assert process.returncode == -signal.SIGKILL, output
        num_killed += 1
        places[killer.at.split("/")[0]] = places.get(killer.at.split("/")[0], 0) + 1
        if (tmp_path / "m.db").exists():
            check(tmp_path, files)
        began = time.monotonic()
        again = start(tmp_path, proxy)
        output, _ = again.communicate(timeout=120)
        assert again.returncode == 0, f"after {killer.at}:\n{output}"
        num_live = check(tmp_path, files)
        took = time.monotonic() - began
        print(
            f"{num_killed}: killed at {killer.at}; {num_live} live; next {took:.1f} s", flush=True
        )
    print(f"{num_killed} kills: {places}")
