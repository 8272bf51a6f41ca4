# SPDX-License-Identifier: Apache-2.0
"""Calls from TensorFlow's threads into Python, which have to be over before the interpreter goes.

A thread that wants to call Python when there is none any more never comes back, and TensorFlow
waits for it forever. So no call begins after the end has, and the last ones are waited for.
"""

import atexit
import threading
import time
from collections.abc import Callable
from typing import TypeVar

_GRACE_SECONDS = 0.05
_MOST_SECONDS = 10.0

_T = TypeVar("_T")


class PendingCalls:
    """Lets calls through until the process ends."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._num_begun = 0
        self._num_ended = 0
        self._is_over = False
        atexit.register(self.end)

    def call(self, function: Callable[[], _T]) -> _T:
        """What the function returns; StopIteration, the end of a dataset, if all is over."""
        with self._changed:
            self._num_begun += 1
            is_over = self._is_over
        try:
            if is_over:
                raise StopIteration
            return function()
        finally:
            with self._changed:
                self._num_ended += 1
                self._changed.notify_all()

    def end(self) -> None:
        """Let no call begin any more, and wait for those that have begun or are about to."""
        with self._changed:
            self._is_over = True
            self._changed.wait_for(lambda: self._num_begun == self._num_ended, _MOST_SECONDS)
            num_begun = -1
        while num_begun != self._num_begun:
            num_begun = self._num_begun
            time.sleep(_GRACE_SECONDS)
