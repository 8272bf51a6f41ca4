# SPDX-License-Identifier: Apache-2.0
"""A run over a bucket is killed in the middle of what it does there: nothing is half there.

STOKER_KILLS says how often. The kills take turns: while inputs are downloaded, while outputs are
uploaded, while they are published (manifests, then the transaction), while a model is pushed.
"""

import contextlib
import hashlib
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bucket_server import STALL_SECONDS, Proxy, serve, variables_for

from stoker.artifacts import State
from stoker.metadata.config import sqlite_metadata_connection_config
from stoker.metadata.store import Store
from stoker.storage.digests import Manifest

pytestmark = pytest.mark.envs

KILLS = int(os.environ.get("STOKER_KILLS", "4"))
IN_PROCESS = ["--in-process"] if KILLS > 20 else []  # thousands of processes take long
KILLS_OF_A_BUCKET = 40
"""moto looks at every object for each listing."""
PRELOAD = ("bucket_pipeline", "s3fs", "aiobotocore.session", "stoker.runner.away")
PRELOAD += ("stoker.metadata.store", "stoker.components.example_gen.executor", "stoker.data.csv")
SCHEMA = b'feature { name: "x" type: INT }\nfeature { name: "y" type: BYTES }\n'
PHASES = {
    "staging": r"GET /kills/(data|schema|root/\w+)/",
    "upload": r"PUT /kills/root/\w+/",
    "publishing": r"PUT /kills/root/\.stoker/manifests/",
    "pushing": r"PUT /kills/served/",
}
"""What a run is doing when it makes such a request."""


@dataclass
class Killer:
    """Kills a process at one request of a phase: at once, or a moment later."""

    pid: int
    phase: str
    number: int
    delay: float
    at: str = ""
    """The request."""
    seen: int = 0

    def __call__(self, _: int, kind: str, path: str) -> str:
        request = f"{kind} {path.partition('?')[0]}"
        if not re.match(PHASES[self.phase], request):
            return ""
        self.seen += 1
        if self.seen != self.number:
            return ""
        self.at = request
        threading.Timer(self.delay, self._kill).start()
        return "stall" if self.phase == "staging" else ""  # so that half of a file is there

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.kill(self.pid, signal.SIGKILL)


def run(log: Path, variables: dict[str, str], words: list[str]) -> None:
    """What a process does that may be killed."""
    import bucket_pipeline

    with open(log, "wb", buffering=0) as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv[1:] = words
    bucket_pipeline.main(words)


@dataclass
class Bucket:
    """What is killed, and looked at: one bucket, one store, one cache."""

    folder: Path
    proxy: Proxy
    files: Any
    turn: int = 0
    whole: dict[int, str] = field(default_factory=dict)
    """The artifacts that were seen to be whole, and the versions of their objects then."""

    def prepare(self, phase: str) -> None:
        """Let the next run have something to do: as on another machine, if it is to download."""
        self.turn += 1
        if phase == "staging":
            for name in ("files", "trees", "manifests"):
                shutil.rmtree(self.folder / "cache" / name, ignore_errors=True)
            self.files.pipe_file("kills/schema/schema.pbtxt", SCHEMA + b"# %d\n" % self.turn)
        else:
            rows = b"".join(b"%d,w%d\n" % (i * self.turn, i % 3) for i in range(200))
            self.files.pipe_file("kills/data/a.csv", b"x,y\n" + rows)

    def run(self, phase: str = "", number: int = 0, delay: float = 0) -> tuple[int, str, Killer]:
        """Run the pipeline, and kill it at such a request; gives how it ended, and what it said."""
        words = ["s3://kills", str(self.folder / "m.db"), str(self.turn), *IN_PROCESS]
        variables = variables_for(self.proxy, str(self.folder / "cache"))
        log = self.folder / "log.txt"
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(PRELOAD))
        process = context.Process(target=run, args=(log, variables, words))
        process.start()
        killer = Killer(process.pid, phase, number, delay)
        self.proxy.faults[:] = [killer] if phase else []
        process.join(timeout=120)
        self.proxy.faults.clear()
        assert process.exitcode is not None, f"It does not end:\n{log.read_text()}"
        return process.exitcode, log.read_text(), killer

    def check(self) -> int:
        """What is published is whole, and the cache holds what it says; how much is published."""
        live = []
        if (self.folder / "m.db").exists():
            with Store(sqlite_metadata_connection_config(self.folder / "m.db")) as store:
                live = [one for one in store.artifacts(states=(State.LIVE,)) if "/root/" in one.uri]
        there = self.files.find("kills/root", detail=True)
        for artifact in live:
            folder = artifact.uri.removesuffix("/value")[5:]
            now = str([(name, there[name]["ETag"]) for name in there if f"{folder}/" in name])
            if self.whole.get(artifact.id) != now:
                self._check_one(artifact, folder)
                self.whole[artifact.id] = now
        for path in (self.folder / "cache").glob("files/??/*"):
            assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
        for name in self.files.glob("kills/served/*"):
            names = {one.rpartition("/")[2] for one in self.files.find(name)}
            assert "names.txt" in names or "push.json" in names
        return len(live)

    def _check_one(self, artifact: Any, folder: str) -> None:
        node, key, number = folder.split("/")[-3:]
        path = f"kills/root/.stoker/manifests/{node}/{key}/{number}.json"
        manifest = Manifest.from_json(self.files.cat_file(path), path)
        assert manifest.digest == artifact.custom_properties["content_digest"]
        for entry in manifest.files:
            found = self.files.cat_file(f"{folder}/{entry.path}")
            assert hashlib.sha256(found).hexdigest() == entry.sha256, f"{folder}/{entry.path}"


@contextlib.contextmanager
def make_bucket(folder):
    import s3fs

    with serve() as server, Proxy(server.port) as proxy:
        files = s3fs.S3FileSystem(
            use_listings_cache=False,
            skip_instance_cache=True,
            endpoint_url=f"http://127.0.0.1:{proxy.server_port}",
            key="testing",
            secret="testing",
        )
        files.mkdir("kills")
        files.pipe_file("kills/schema/schema.pbtxt", SCHEMA)
        folder.mkdir()
        yield Bucket(folder, proxy, files)


def choose_delay(phase: str) -> float:
    """After the request: in a file's download, before and after an answer, in the transaction."""
    longest = {"staging": STALL_SECONDS, "publishing": 0.1}.get(phase, 0.05)
    return random.choice((0, random.uniform(0, longest)))


def kill_often(bucket: Bucket, num_kills: int, killed: Counter[str]) -> None:
    most = {"staging": 6, "upload": 15, "publishing": 8, "pushing": 4}
    bucket.prepare("upload")
    code, output, _ = bucket.run()
    assert code == 0, output
    until = killed.total() + num_kills
    while killed.total() < until:
        phase = list(PHASES)[killed.total() % len(PHASES)]
        bucket.prepare(phase)
        code, output, killer = bucket.run(
            phase, random.randint(1, most[phase]), choose_delay(phase)
        )
        if code == 0:  # it was done before the request came
            assert killer.seen, f"Nothing of {phase} is done:\n{output}"
            most[phase] = min(most[phase], killer.seen)
            continue
        assert code == -signal.SIGKILL, output
        killed[phase] += 1
        bucket.check()
        began = time.monotonic()
        code, output, _ = bucket.run()
        assert code == 0, f"after {killer.at}:\n{output}"
        num_live = bucket.check()
        took = f"next {time.monotonic() - began:.1f} s"
        where = f"{killer.delay * 1000:3.0f} ms after {killer.at}"
        print(f"{killed.total()}: {phase}, {where}; {num_live} live; {took}", flush=True)


def test_whatever_a_kill_interrupts_the_next_run_ends_well(tmp_path):
    random.seed(int(os.environ.get("STOKER_SEED", "19")))
    killed = Counter[str]()
    while killed.total() < KILLS:
        with make_bucket(tmp_path / f"{killed.total()}") as bucket:
            kill_often(bucket, min(KILLS_OF_A_BUCKET, KILLS - killed.total()), killed)
    print(f"{killed.total()} kills: {dict(killed)}")
    assert len(killed) == min(KILLS, len(PHASES))
