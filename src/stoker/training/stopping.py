# SPDX-License-Identifier: Apache-2.0
"""How a process is asked to stop: SIGTERM, or Ctrl-C, ends what it does as a KeyboardInterrupt.

Training that can save its state first asks `is_stop_wanted` between two steps, inside of
`defer_stop`.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class _State:
    wanted = False
    num_deferring = 0


def is_stop_wanted() -> bool:
    """Whether this process was asked to stop."""
    return _State.wanted


@contextlib.contextmanager
def raise_on_sigterm() -> Iterator[None]:
    """Inside, SIGTERM raises KeyboardInterrupt, unless the program has a handler of its own."""
    _State.wanted = False
    if not _is_main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def defer_stop() -> Iterator[None]:
    """Inside, a signal only makes `is_stop_wanted` true: whoever is inside ends by itself.

    Python hears signals in its main thread alone; in others this changes nothing. A second Ctrl-C
    does not wait.
    """
    if not _is_main_thread():
        yield
        return
    handlers = {number: signal.signal(number, _on_signal) for number in _SIGNALS}
    _State.num_deferring += 1
    try:
        yield
    finally:
        _State.num_deferring -= 1
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _on_signal(number: int, _: FrameType | None) -> None:
    impatient = number == signal.SIGINT and _State.wanted
    _State.wanted = True
    if impatient or not _State.num_deferring:
        raise KeyboardInterrupt
