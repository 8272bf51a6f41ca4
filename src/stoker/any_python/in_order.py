# SPDX-License-Identifier: Apache-2.0
"""Calls in threads whose results come in the order of the calls, only a few of them ahead."""

from __future__ import annotations

import collections
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Iterable, Iterator, TypeVar

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


def call_in_order(
    function: Callable[[_Given], _Made], many: Iterable[_Given], num_threads: int
) -> Iterator[_Made]:
    """The results of all calls, in order; no more calls are begun than threads can be kept busy."""
    with ThreadPoolExecutor(num_threads) as threads:
        yield from take_in_order(
            lambda given: threads.submit(function, given),
            Future.result,
            Future.cancel,
            many,
            most=num_threads + 1,
        )


def take_in_order(
    begin: Callable[[_Given], Any],
    finish: Callable[[Any], _Made],
    give_up: Callable[[Any], object],
    many: Iterable[_Given],
    *,
    most: int,
) -> Iterator[_Made]:
    """What `finish` makes of all that was begun, in order; at most so many are begun at a time.

    If whoever asks stops asking, or one fails, what was begun is given up.
    """
    waiting: collections.deque[Any] = collections.deque()
    try:
        for given in many:
            waiting.append(begin(given))
            if len(waiting) >= most:
                yield finish(waiting.popleft())
        while waiting:
            yield finish(waiting.popleft())
    finally:
        for begun in waiting:
            give_up(begun)
