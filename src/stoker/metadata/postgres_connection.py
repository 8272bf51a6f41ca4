# SPDX-License-Identifier: Apache-2.0
"""A connection to PostgreSQL that is given up when its server has not answered for too long.

A server that is stopped, or hangs, keeps its sockets open: the system goes on taking what is sent,
and neither keepalives nor the server's own time-outs end the wait.
"""

import time
from collections.abc import Generator
from typing import Any

import psycopg

ANSWER_SECONDS = 120
"""Longer than any wait for a lock."""


class LimitedConnection(psycopg.Connection[Any]):
    """psycopg's connection, with a limit for each answer."""

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        """Wait for an answer; one that does not come closes the connection."""
        return super().wait(self._limit(gen), *args, **options)

    def _limit(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        until = time.monotonic() + ANSWER_SECONDS
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > until:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"no answer for {ANSWER_SECONDS} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value
