# SPDX-License-Identifier: Apache-2.0
"""Packages for other places, where they are not installed: they can be named, and not used.

A file that runs here or in a cloud imports kfp at its top, and uses it in the branch for the cloud.
Only the user's files find them, and not in a `try`, which goes on without what is not installed.

To add one, if no library asks with find_spec whether it is there: its name in PACKAGES, a line in
known_packages.KNOWN, and a folder in on_path/ whose `__init__.py` calls stand_in.
"""

import ast
import linecache
import os
import sys
from importlib.abc import Loader
from types import FrameType, ModuleType
from typing import Any, NoReturn

from stoker.any_python.own_code import is_users_file
from stoker.errors import MissingPart
from stoker.stand_ins.missing_modules import make_missing_modules
from stoker.user_code.imports import find_module
from stoker.user_code.known_packages import find_package
from stoker.views.users_errors import tell_users_errors

PACKAGES = ("kfp", "tensorflow_cloud")
_ON_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "on_path", "")


class NamedOnly:
    """What stands for a name of such a package: names below it are found, and a call is refused."""

    def __init__(self, path: str) -> None:
        """`path` is the dotted name."""
        self._path = path
        self.MISSING_PART = find_package(path).describe(path)

    def __getattr__(self, name: str) -> "NamedOnly":
        if name.startswith("__"):
            raise AttributeError(name)
        return NamedOnly(f"{self._path}.{name}")

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Raise MissingPart: here the package itself would be needed."""
        raise MissingPart(self.MISSING_PART, name=self._path)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> NoReturn:
        """Raise MissingPart: a class cannot be made of it either."""
        self(bases)


def stand_in(package: str) -> None:
    """Make the module `package`, which is being imported, one that can only be named."""
    if not _may_name(_find_importer()):
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    tell_users_errors()
    _become_named_only(sys.modules[package])
    make_missing_modules(package, _NamedOnlyLoader())


def is_named_only(module: str) -> bool:
    """Whether a module is in such a package, and that is not installed."""
    top = module.partition(".")[0]
    return top in PACKAGES and (find_module(top) or "").startswith(_ON_PATH)


def _find_importer() -> FrameType | None:
    """The frame of the import statement, whatever Python and we do on its behalf."""
    frame: FrameType | None = sys._getframe(2)
    while frame and ("importlib" in frame.f_code.co_filename or _is_in_on_path(frame)):
        frame = frame.f_back
    return frame


def _is_in_on_path(frame: FrameType) -> bool:
    return os.path.abspath(frame.f_code.co_filename).startswith(_ON_PATH)


def _may_name(frame: FrameType | None) -> bool:
    """Whether a frame is at an import statement of the user's that is in no `try`."""
    file = frame.f_code.co_filename if frame else ""
    text = "".join(linecache.getlines(file, frame.f_globals)) if frame else ""
    if frame is None or not text or not is_users_file(file):
        return False
    tries = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Try)]
    return not any(
        statement.lineno <= frame.f_lineno <= (statement.end_lineno or statement.lineno)
        for node in tries
        for statement in node.body
    )


def _become_named_only(module: ModuleType) -> None:
    module.__getattr__ = NamedOnly(module.__name__).__getattr__  # type: ignore[method-assign]
    module.__path__ = []


class _NamedOnlyLoader(Loader):
    """Loads nothing: a module below such a package can be named too."""

    def exec_module(self, module: ModuleType) -> None:
        """Let names below it be found."""
        _become_named_only(module)
