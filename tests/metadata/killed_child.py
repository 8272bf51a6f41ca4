# SPDX-License-Identifier: Apache-2.0
"""A child of a test that is killed between two SQL statements."""

import os
import signal
from collections.abc import Callable

from sqlalchemy import Engine
from sqlalchemy import event as sql_event


def kill_child(act: Callable[[], object], *, at: int) -> bool:
    """Let a child act, and kill it before its SQL statement number `at`; False if it ended."""
    child = os.fork()
    if child == 0:
        seen = iter(range(1, at))

        def count(*_: object) -> None:
            if next(seen, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            sql_event.listen(Engine, "before_cursor_execute", count)
            act()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL)
    return status == signal.SIGKILL
