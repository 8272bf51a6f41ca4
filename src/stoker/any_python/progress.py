# SPDX-License-Identifier: Apache-2.0
"""How any step says what it does, and how far it is.

    progress = Progress("reading", unit="rows", total=num_rows)
    for batch in batches:
        work(batch)
        progress.advance(len(batch))

It tells at most five times a second, whatever is counted; outside of a step it tells nobody.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Iterable, Iterator, Sized, TypeVar

from .launcher_link import report, report_doing

REPORT_SECONDS = 0.2
"""How long a report holds before the next one."""

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


def report_batches(
    batches: Iterable[_Batch],
    doing: str,
    *,
    unit: str = "rows",
    total: int | None = None,
    processes: int = 1,
) -> Iterator[_Batch]:
    """The batches as they are, counted when whoever reads them has done with each.

    Of several processes that read as many each, one counts for all.
    """
    progress = Progress(doing, unit=unit, total=total, is_about=processes > 1)
    for batch in batches:
        yield batch
        progress.advance(len(batch) * processes)
