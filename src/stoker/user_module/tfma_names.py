# SPDX-License-Identifier: Apache-2.0
"""What user modules in a worker find as `tensorflow_model_analysis`, installed or not.

TFMA is large, and dropped EvalSavedModels after 0.46. The names below are ours: they are added to
an installed TFMA that lacks them, and where none is installed they are all there is.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from stoker.errors import MissingPart

__all__ = ["HOMES", "provide_tfma"]

HOMES = {"export": "stoker.user_module.eval_saved_model"}
"""Names of TFMA: the module that each is, or `module:name` for what is in one."""

_TFMA = "tensorflow_model_analysis"


def provide_tfma() -> None:
    """Let `import tensorflow_model_analysis` give our names too.

    It takes effect at that import, and where it has been done already; a second call changes
    nothing.
    """
    if loaded := sys.modules.get(_TFMA):
        _add_names(loaded)
    elif not any(isinstance(finder, _TfmaFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _TfmaFinder())


class _TfmaFinder(MetaPathFinder):
    """Finds the installed TFMA, or stands in for it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _TFMA:
            return None
        installed = PathFinder.find_spec(fullname, path)
        if installed is None or installed.loader is None:
            return ModuleSpec(fullname, _StandInLoader(), is_package=True)
        installed.loader = _AddingLoader(installed.loader)
        return installed


class _AddingLoader(Loader):
    """Loads the installed TFMA as ever, then adds what it lacks."""

    def __init__(self, installed: Loader) -> None:
        self._installed = installed

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._installed.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._installed.exec_module(module)
        _add_names(module)


class _StandInLoader(Loader):
    """Makes a module of our names alone; any other name says what to install."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        _add_names(module)


class _StandIn(ModuleType):
    """TFMA where none is installed."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        raise MissingPart(
            f"{_TFMA}.{name} needs TFMA, which is not installed; Stoker itself has "
            f"{', '.join(HOMES)}. Install it: pip install tensorflow-model-analysis.",
            name=name,
        )


def _add_names(tfma: ModuleType) -> None:
    for name, home in HOMES.items():
        if name not in vars(tfma):
            module, _, attribute = home.partition(":")
            found = importlib.import_module(module)
            setattr(tfma, name, getattr(found, attribute) if attribute else found)
