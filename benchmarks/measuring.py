# SPDX-License-Identifier: Apache-2.0
"""What benchmarks have in common: a part runs in a process of its own, and is timed and weighed."""

import functools
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Times = dict[str, float]


class Clock:
    """Wall and CPU time, of this process and its children that have ended."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.monotonic(), self._cpu()

    def since(self) -> tuple[float, float]:
        return time.monotonic() - self.wall, self._cpu() - self.cpu

    @staticmethod
    def _cpu() -> float:
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in both)


class Stages:
    """CPU seconds within named functions of this process, less those of others that they call.

    The clock is that of a thread; of the process, where one thread calls and others help it.
    """

    def __init__(
        self,
        stages: Mapping[str, tuple[Any, str]],
        clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._clock = clock
        self._seconds: Counter[str] = Counter(dict.fromkeys(stages, 0))
        self._adding = threading.Lock()
        self._thread = threading.local()
        for stage, (owner, name) in stages.items():
            setattr(owner, name, self._watch(stage, getattr(owner, name)))

    def _watch(self, stage: str, function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            before, self._thread.within = getattr(self._thread, "within", 0.0), 0.0
            begun = self._clock()
            try:
                return function(*args, **kwargs)
            finally:
                took = self._clock() - begun
                with self._adding:
                    self._seconds[stage] += took - self._thread.within
                self._thread.within = before + took

        return call

    def show(self, cpu: float) -> None:
        """A line on each, and on what is left of all `cpu` seconds."""
        for stage, seconds in {**self._seconds, "all else": cpu - self._seconds.total()}.items():
            print(f"    {stage:40} {seconds:6.2f} s {seconds / cpu:5.0%}")


def run(script: str, *args: str) -> Times:
    """What a script printed as JSON in its last line, and its peak memory.

    Memory is the sum over the tree of processes, shared pages counted once.
    """
    environ = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1"}
    with subprocess.Popen(
        [sys.executable, script, *args], stdout=subprocess.PIPE, text=True, env=environ
    ) as process:
        peak = [0]
        watcher = threading.Thread(target=_watch_memory, args=(process, peak), daemon=True)
        watcher.start()
        output, _ = process.communicate()
    if process.returncode:
        sys.exit(f"{os.path.basename(script)} {' '.join(args)} failed")
    *told, last = output.splitlines()
    print(*told, sep="\n", end="\n" if told else "")
    times: Times = json.loads(last)
    return {**times, "memory": float(peak[0])}


def show(name: str, rows: int, times: Times) -> None:
    """One line on one part."""
    print(
        f"{name:24} {rows:>11,} rows   {rows / times['wall']:>9,.0f} rows/s   "
        f"CPU {times['cpu']:6.1f} s   wall {times['wall']:6.1f} s   "
        f"peak memory {times['memory'] / 1e6:6,.0f} MB",
        flush=True,
    )


def _watch_memory(process: "subprocess.Popen[str]", peak: list[int]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], sum(map(memory_of, tree_of(process.pid))))
        time.sleep(0.25)


def tree_of(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in tree_of(int(child)))]


def memory_of(pid: int) -> int:
    """The process's memory; pages that several share are divided among them.

    Files that are mapped do not count: the system drops them when it needs the room.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines[1:]}
    return sizes.get("Pss_Anon", 0) + sizes.get("Pss_Shmem", 0)
