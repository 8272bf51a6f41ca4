# SPDX-License-Identifier: Apache-2.0
"""Where the time of a run went: `stoker run --profile`.

The console is told what each step does and since when; a worker tells at its end how much it has
computed. A table of both is printed when the run has ended, however it did.
"""

import contextlib
import os
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stoker.views.table import Table

_KINDS = {
    **dict.fromkeys(("looking", "staging"), "inputs"),
    **dict.fromkeys(("importing", "starting"), "waiting"),
    **dict.fromkeys(("checking", "rewriting"), "check"),
    "publishing": "sync",
}
"""By the first word of what a step does. All else is its work."""
WAITING = "starting a process"
"""What a step does between its launch and the first word of its worker."""
_COLUMNS = ("inputs", "waiting", "work", "check", "sync")
_LEAST_SECONDS = 0.005


@dataclass(kw_only=True)
class _StepTimes:
    began_at: float
    doing: str
    since: float
    took: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    cpu_seconds: float = 0.0
    ended_at: float | None = None


class Timeline:
    """What the steps of a run did, and when; times are of one clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steps: dict[str, _StepTimes] = {}
        self._imports: dict[int, float] = {}
        """The CPU seconds that each fork server has taken to import what its workers use."""

    def begin(self, name: str, doing: str) -> None:
        """A step begins, with this."""
        now = self._clock()
        self._steps[name] = _StepTimes(began_at=now, doing=doing, since=now)

    def turn(self, name: str, doing: str) -> None:
        """A step does something else from now on."""
        step, now = self._steps[name], self._clock()
        first, _, _ = step.doing.partition(" ")
        step.took[_KINDS.get(first, "work")] += now - step.since
        step.doing, step.since = doing, now

    def end(self, name: str) -> None:
        """A step has ended."""
        self.turn(name, "")
        self._steps[name].ended_at = self._clock()

    def add_usage(self, name: str, record: Mapping[str, Any]) -> None:
        """A worker of a step has computed for so long, the fork server before it for so long."""
        self._steps[name].cpu_seconds += record["cpu_seconds"]
        self._imports[record["server"]] = record["import_cpu_seconds"]

    def describe(self, before_seconds: float, wall_seconds: float, cpu_seconds: float) -> list[str]:
        """The table, of a program that ran `before_seconds` before this was made."""
        if not self._steps:
            return []
        zero = min(step.began_at for step in self._steps.values())
        rows = [
            [
                name,
                f"{step.began_at - zero:.2f}",
                *(_show_seconds(step.took[kind]) for kind in _COLUMNS),
                _show_seconds((step.ended_at or step.since) - step.began_at),
                _show_seconds(step.cpu_seconds),
            ]
            for name, step in self._steps.items()
        ]
        columns = ("step", "at", *_COLUMNS, "in all", "CPU")
        told = sum(step.cpu_seconds for step in self._steps.values()) + sum(self._imports.values())
        imports = " and ".join(f"{seconds:.2f}" for seconds in self._imports.values()) or "0"
        return [
            *Table(columns=columns, rows=rows, title="Where the seconds went:").lines(),
            f"Before the first step: {before_seconds:.2f} s. Imports of the processes that start "
            f"workers: {imports} CPU s. This process and the rest: {cpu_seconds - told:.2f} CPU s.",
            f"All of it: {wall_seconds:.2f} s, and {cpu_seconds:.2f} CPU s of all processes.",
        ]


def _show_seconds(seconds: float) -> str:
    return f"{seconds:.2f}" if seconds >= _LEAST_SECONDS else ""


@contextlib.contextmanager
def tell_times(timeline: Timeline, tell: Callable[[str], None]) -> Iterator[None]:
    """Tell at the end where the time of this program went."""
    age = find_age()
    began = time.monotonic()
    try:
        yield
    finally:
        wall = age + time.monotonic() - began
        usages = [
            resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        ]
        cpu = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        for line in timeline.describe(age, wall, cpu):
            tell(line)


def find_age() -> float:
    """For how long this program has run; 0 where the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/self/stat", encoding="utf-8") as file:
        started = int(file.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started
    return 0.0
