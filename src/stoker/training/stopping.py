# SPDX-License-Identifier: Apache-2.0
"""How a process is asked to stop: SIGTERM, or Ctrl-C, ends what it does as a KeyboardInterrupt.

Training that can save its state first asks `is_stop_wanted` between two steps, inside of
`defer_stop`.
"""

import contextlib
import functools
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

_USUAL: dict[signal.Signals, Any] = {
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler,
}


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
    _leave_forks_alone()
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
    _leave_forks_alone()
    # A handler that is not Python's cannot be put back.
    wanted = [number for number in _USUAL if signal.getsignal(number) is not None]
    handlers = {number: signal.signal(number, _on_signal) for number in wanted}
    _State.num_deferring += 1
    try:
        yield
    finally:
        _State.num_deferring -= 1
        for number, handler in handlers.items():
            if signal.getsignal(number) is _on_signal:  # the module may want its own from now on
                signal.signal(number, handler)


@functools.cache
def _leave_forks_alone() -> None:
    """Let processes that user code forks hear signals as usual.

    `multiprocessing.Pool` ends its processes by SIGTERM. One that is about to wait for a lock would
    note the signal, and then wait for ever.
    """
    os.register_at_fork(after_in_child=_forget_handlers)


def _forget_handlers() -> None:
    for number, usual in _USUAL.items():
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, usual)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _on_signal(number: int, _: FrameType | None) -> None:
    impatient = number == signal.SIGINT and _State.wanted
    _State.wanted = True
    if impatient or not _State.num_deferring:
        raise KeyboardInterrupt
