# SPDX-License-Identifier: Apache-2.0
"""Modules below our packages that are not there: their import says what is, and what to do.

Python alone would say "No module named …", as if nothing of the package were installed.
"""

import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from stoker.any_python.lines import did_you_mean
from stoker.errors import MissingModule

Advise = Callable[[str], str]
"""What to say of a module by its dotted name; nothing for the common sentence."""

_FEW = 8


def tell_of_missing_modules(package: str, advise: Advise = lambda _: "") -> None:
    """Let the import of a module that `package` has not say so; to repeat it is harmless."""
    _finder.packages[package] = advise
    _ask_last()


def make_missing_modules(package: str, loader: Loader) -> None:
    """Let `loader` make every module that is asked for below `package`."""
    _finder.loaders[package] = loader
    _ask_last()


def _ask_last() -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)


def has_module(name: str) -> bool:
    """Whether there is such a module, below packages that tell of missing ones too."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def describe_missing_module(name: str, near: Sequence[str]) -> str:
    """That Stoker lacks a module, and which there are beside it."""
    package, _, last = name.rpartition(".")
    can_list = last.islower() and 0 < len(near) <= _FEW
    few = f" {package} has {', '.join(sorted(near))}." if can_list else ""
    there_is = did_you_mean(last, near) or few
    return f"Stoker has no {name}.{there_is} Leave it out, or write what it does."


def find_submodules(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package: its modules, imported when they are asked for."""

    def __getattr__(name: str) -> Any:  # noqa: N807
        if not name.startswith("__") and has_module(f"{package}.{name}"):
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return __getattr__


class _Finder(MetaPathFinder):
    """The last finder that is asked: whoever comes to it was not found."""

    def __init__(self) -> None:
        self.packages: dict[str, Advise] = {}
        self.loaders: dict[str, Loader] = {}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Nothing for others; raises MissingModule for what one of our packages has not."""
        top, _, below = fullname.partition(".")
        if below and top in self.loaders:
            return importlib.util.spec_from_loader(fullname, self.loaders[top], is_package=True)
        if not below or top not in self.packages:
            return None
        text = self.packages[top](fullname) or describe_missing_module(fullname, _list_near(path))
        raise MissingModule(text, name=fullname)


def _list_near(path: Sequence[str] | None) -> list[str]:
    return [module.name for module in pkgutil.iter_modules(path or []) if module.name[0] != "_"]


_finder = _Finder()
