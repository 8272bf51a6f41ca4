# SPDX-License-Identifier: Apache-2.0
"""How any step says what it does, and how far it is.

    progress = Progress("reading", unit="rows", total=num_rows)
    for batch in batches:
        work(batch)
        progress.advance(len(batch))

It tells at most five times a second, whatever is counted; outside of a step it tells nobody. Work
that may be done in other processes is followed from here, and counted there:

    with follow("counting", total=num_rows):
        pool.map(count_shard, shards)       count_shard calls advance(len(batch))
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, Callable, Iterable, Iterator, Sized, TypeVar

from .launcher_link import report, report_doing

REPORT_SECONDS = 0.2
"""How long a report holds before the next one."""

ADVANCE = "advance"
"""The kind of what a process tells to another one that follows its work."""

_Batch = TypeVar("_Batch", bound=Sized)


class Progress:
    """Counts what is done of one piece of work; its methods may be called from several threads."""

    def __init__(
        self,
        doing: str,
        *,
        unit: str,
        total: int | None = None,
        is_about: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin. `is_about` says that the total is an estimate."""
        self._fixed = {"kind": "progress", "doing": doing, "unit": unit, "is_about": is_about}
        self._total = total
        self._count = 0
        self._clock = clock
        self._began = self._reported = clock()
        self._lock = threading.Lock()
        report_doing(doing)

    def advance(self, count: int) -> None:
        """Count what is done besides what was counted before."""
        with self._lock:
            self._count += count
            now = self._clock()
            if now - self._reported < REPORT_SECONDS:
                return
            self._reported = now
            record = self._describe(now)
        report(record)

    def _describe(self, now: float) -> dict[str, Any]:
        per_second = self._count / (now - self._began)
        left = max(0, self._total - self._count) if self._total else None
        return {
            **self._fixed,
            "count": self._count,
            "total": self._total,
            "per_second": per_second,
            "seconds_left": left / per_second if left is not None and per_second else None,
        }


class _Followed:
    progress: Progress | None = None


@contextlib.contextmanager
def follow(
    doing: str, *, unit: str = "rows", total: int | None = None, is_about: bool = False
) -> Iterator[None]:
    """Inside, what `advance` counts is counted of this, in whichever process it is done."""
    _Followed.progress = Progress(doing, unit=unit, total=total, is_about=is_about)
    try:
        yield
    finally:
        _Followed.progress = None


def advance(count: int) -> None:
    """Count what is done of the work that is followed; elsewhere, tell those who follow it."""
    if _Followed.progress:
        _Followed.progress.advance(count)
    else:
        report({"kind": ADVANCE, "count": count})


def advance_after(batches: Iterable[_Batch]) -> Iterator[_Batch]:
    """The batches as they are, counted when whoever reads them has done with each."""
    for batch in batches:
        yield batch
        advance(len(batch))


def leave_following() -> None:
    """Let this process, a copy of one that follows its work, tell that one what it has done."""
    _Followed.progress = None
