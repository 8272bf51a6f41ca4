# SPDX-License-Identifier: Apache-2.0
"""Standard streams, which a process may lack, and which user code closes or replaces by its own."""

from __future__ import annotations

import contextlib
import logging
import os
import sys


def open_missing_streams() -> None:
    """Give this process the standard descriptors that it was started without: they lead nowhere.

    Else the next file or socket that is opened gets such a number, and others print into it.
    """
    while True:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > 2:
            os.close(descriptor)
            return
        os.set_inheritable(descriptor, True)


def flush_streams() -> None:
    """Bring out what was printed, as far as that can be: nothing fails because of it."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):  # it may be anything, None and a closed file included
            stream.flush()  # type: ignore[union-attr]


def flush_logs() -> None:
    """Bring out what handlers of Python's logging still hold; one that fails is left alone."""
    logging.raiseExceptions = False
    logging.shutdown()
