# SPDX-License-Identifier: Apache-2.0
"""KerasTuner: a search that is killed, or that runs in several processes, loses nothing."""

import contextlib
import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

from stoker.patches.changes import replace
from stoker.patches.registry import PATCHES


def keep_state_whole() -> contextlib.ExitStack:
    """Let KerasTuner replace its state files at once, so that a kill never leaves half of one."""
    from keras_tuner.src import utils

    patch = PATCHES["tuner-state"]
    patch.check_version()
    patch.check_names(utils, "save_json")
    save: Callable[[str, Any], str] = utils.save_json

    def save_whole(path: str, content: Any) -> str:
        if "://" in path:  # not a path of this machine
            return save(path, content)
        text = save(f"{path}.part", content)
        os.replace(f"{path}.part", path)
        return text

    return replace(utils, "save_json", save_whole)


def never_overwrite() -> contextlib.ExitStack:
    """Keep a tuner that is made with overwrite=True from removing the state of the running search.

    The process that serves the oracle has made the same tuner, and removed what was there, before.
    """
    from keras_tuner.engine.base_tuner import BaseTuner

    PATCHES["tuner-overwrite"].check_version()
    make: Callable[..., None] = BaseTuner.__init__
    signature = inspect.signature(make)

    @functools.wraps(make)
    def make_without(*args: Any, **kwargs: Any) -> None:
        call = signature.bind(*args, **kwargs)
        call.arguments["overwrite"] = False
        make(*call.args, **call.kwargs)

    return replace(BaseTuner, "__init__", make_without)
