# SPDX-License-Identifier: Apache-2.0
"""TensorFlow: the strategy of a worker group tells when it is made."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

from stoker.patches.changes import replace
from stoker.patches.registry import PATCHES


def call_around_joining(before: Callable[[], None], after: Callable[[Any], None]) -> None:
    """Call `before()` and `after(strategy)` when the user's code makes its strategy.

    In its constructor the processes of a group wait for each other.
    """
    patch = PATCHES["tensorflow-join"]
    patch.check_version()
    module = importlib.import_module("tensorflow.python.distribute.collective_all_reduce_strategy")
    patch.check_names(module, "CollectiveAllReduceStrategy")
    strategy_class = module.CollectiveAllReduceStrategy
    original = strategy_class.__init__

    @functools.wraps(original)
    def join(strategy: Any, *args: Any, **kwargs: Any) -> None:
        before()
        original(strategy, *args, **kwargs)
        after(strategy)

    replace(strategy_class, "__init__", join)
