# SPDX-License-Identifier: Apache-2.0
"""Data steps on Ray with three nodes on this machine, beside the same steps without it.

python benchmarks/cluster_data.py [--shards 120] [--rows 65536] [--many 10000] [--only PART]

    step    a table of so many shards is made and counted: what the cluster costs
    many    a table of very many small shards: whether memory stays flat
    files   as many CSV files to examples and statistics

CPU is that of all processes, those of Ray included. The cluster is there before the clock starts,
as a team's is.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import data_rows
import measuring
import numpy as np
import pyarrow.csv
from cluster_shards import CountTable

from stoker import LocalDagRunner, OnRay
from stoker.components import CsvExampleGen, StatisticsGen
from stoker.dsl import Pipeline

NUM_NODES = 3
NUM_PROCESSES = NUM_NODES - 1
"""One processor of the cluster is the step's own, which waits for the others."""
_LOOK_SECONDS = 0.5
_IDLE_SECONDS = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, default=120)
    parser.add_argument("--rows", type=int, default=65_536)
    parser.add_argument("--many", type=int, default=10_000)
    parser.add_argument("--only", choices=["step", "many", "files"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, start_cluster() as address:
        for part in ("step", "many", "files"):
            if given.only in (None, part):
                globals()[f"measure_{part}"](Path(folder, part), given, lambda: OnRay(address))


def measure_step(folder: Path, given: Any, launcher: Callable[[], OnRay]) -> None:
    def count() -> list[Any]:
        table = CountTable(
            num_shards=given.shards, shard_rows=given.rows, num_processes=NUM_PROCESSES
        )
        return [table]

    here = measure("here", folder / "here", count(), None)
    there = measure("on Ray", folder / "there", count(), launcher())
    compare(here, there)
    same(folder, "CountTable/statistics/1/FeatureStats.pb")


def measure_many(folder: Path, given: Any, launcher: Callable[[], OnRay]) -> None:
    table = CountTable(num_shards=given.many, shard_rows=128)
    measure(f"{given.many:,} shards", folder, [table], launcher())


def measure_files(folder: Path, given: Any, launcher: Callable[[], OnRay]) -> None:
    os.makedirs(folder / "data")
    random, words = np.random.default_rng(1), data_rows.make_words()
    table = data_rows.make_block(random, words, 20)
    for number in range(given.many):
        pyarrow.csv.write_csv(table, folder / "data" / f"{number:06}.csv")

    def steps() -> list[Any]:
        examples = CsvExampleGen(str(folder / "data"))
        return [examples, StatisticsGen(examples.outputs["examples"])]

    os.environ["STOKER_SHARD_BYTES"] = str(1 << 20)
    here = measure(f"{given.many:,} files here", folder / "here", steps(), None)
    there = measure(f"{given.many:,} files on Ray", folder / "there", steps(), launcher())
    compare(here, there)
    same(folder, "StatisticsGen/statistics/2/Split-train/FeatureStats.pb")


def measure(what: str, root: Path, steps: list[Any], launcher: OnRay | None) -> measuring.Times:
    runner = LocalDagRunner(launcher) if launcher else LocalDagRunner()
    pipeline = Pipeline("cluster", str(root), components=steps)
    with watch() as watched:
        began = time.monotonic()
        runner.run(pipeline)
        wall = time.monotonic() - began
    times, seen = {"wall": wall, "cpu": watched.cpu()}, watched.memory
    quarters = [
        f"{max(seen[len(seen) * n // 4 : len(seen) * (n + 1) // 4 + 1]) / 1e6:,.0f}"
        for n in range(4)
    ]
    print(
        f"{what:24} wall {times['wall']:6.1f} s   CPU {times['cpu']:6.1f} s   "
        f"memory by quarters of the time {' '.join(quarters)} MB",
        flush=True,
    )
    return times


def compare(here: measuring.Times, there: measuring.Times) -> None:
    print(
        f"ratio Ray : here   wall {there['wall'] / here['wall']:.3f}   "
        f"CPU {there['cpu'] / here['cpu']:.3f}"
    )


def same(folder: Path, name: str) -> None:
    contents = {(folder / side / name).read_bytes() for side in ("here", "there")}
    print("statistics: the same bytes" if len(contents) == 1 else sys.exit(f"{name} differs"))


@contextmanager
def start_cluster() -> Iterator[str]:
    """A head that runs nothing, and nodes with one processor each."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(NUM_NODES):
        cluster.add_node(num_cpus=1)
    with watch() as watched:
        time.sleep(_IDLE_SECONDS)
    share = watched.cpu() / _IDLE_SECONDS
    print(f"a cluster that has nothing to do uses {share:.2f} processors", flush=True)
    try:
        yield str(cluster.address)
    finally:
        cluster.shutdown()


class Watched:
    """What this process and all below it use, looked at again and again.

    Ray's processes end with their job, and those above them do not count what they have used.
    """

    def __init__(self) -> None:
        self.memory: list[int] = [0]
        self._first = self._look()
        self._last = dict(self._first)

    def look(self) -> None:
        self._last |= self._look()
        self.memory.append(sum(map(measuring.memory_of, measuring.tree_of(os.getpid()))))

    def cpu(self) -> float:
        """The seconds since the first look."""
        ticks = sum(used - self._first.get(pid, 0) for pid, used in self._last.items())
        return ticks / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _look() -> dict[int, int]:
        found = {}
        for pid in measuring.tree_of(os.getpid()):
            with suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                found[pid] = int(fields[11]) + int(fields[12])
        return found


@contextmanager
def watch() -> Iterator[Watched]:
    """Look every half second, and when all is done."""
    watched, ended = Watched(), threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK_SECONDS):
            watched.look()

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield watched
    finally:
        ended.set()
        watcher.join()
        watched.look()


if __name__ == "__main__":
    main()
