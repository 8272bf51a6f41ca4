# SPDX-License-Identifier: Apache-2.0
"""tfx_bsl where it is not installed: the options of a DataAccessor, and advice for the rest."""

import importlib
import os
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from stoker.errors import MissingPart
from stoker.stand_ins.missing_modules import has_module

_STAND_INS = os.path.join("stand_ins", "on_path")


def become_installed_one(stand_in: ModuleType) -> bool:
    """Load an installed package in the place of a stand-in that PYTHONPATH put first."""
    others = [path for path in sys.path if not path.endswith(_STAND_INS)]
    found = PathFinder.find_spec(stand_in.__name__, others)
    if found is None or found.loader is None or found.origin is None:
        return False
    stand_in.__spec__, stand_in.__file__ = found, found.origin
    stand_in.__path__ = list(found.submodule_search_locations or ())
    found.loader.exec_module(stand_in)
    return True


def find_nothing(module_name: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module of the stand-in: its submodules, and advice for other names."""

    def __getattr__(name: str) -> Any:  # noqa: N807
        dotted = f"{module_name}.{name}"
        if name.startswith("__"):
            raise AttributeError(f"module {module_name!r} has no attribute {name!r}")
        is_package = hasattr(sys.modules[module_name], "__path__")
        if is_package and has_module(dotted):
            return importlib.import_module(dotted)
        raise MissingPart(needs_tfx_bsl(dotted), name=dotted)

    return __getattr__


def needs_tfx_bsl(name: str) -> str:
    """What to say of a part of tfx_bsl that is not here."""
    return f"{name} is part of tfx-bsl, which is not installed: pip install 'stoker[transform]'"
