# SPDX-License-Identifier: Apache-2.0
"""TFMA: names that it lost, or never had, are there again."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from stoker.patches.changes import after_import
from stoker.patches.registry import PATCHES


def add_names(find: Callable[[str], Any]) -> None:
    """Let TFMA ask `find` for a name that it has not; each is found when it is first used."""

    def add(tfma: ModuleType) -> None:
        if version := vars(tfma).get("__version__"):
            PATCHES["tfma-names"].check_version(version)
        vars(tfma).setdefault("__getattr__", find)

    after_import("tensorflow_model_analysis", add)
