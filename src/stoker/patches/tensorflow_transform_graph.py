# SPDX-License-Identifier: Apache-2.0
"""tensorflow-transform: its graph of analyzers is built without Apache Beam.

What builds it stands among the transforms of Beam, and is imported with all of them; what it has of
Beam itself are only base classes and types that it names. Beam and its clients are a fifth of what
a process for Transform would import.
"""

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from stoker.patches.registry import PATCHES

_PACKAGE = "tensorflow_transform.beam"
_MODULES = ("analyzer_cache", "beam_nodes", "combiner_packing_util", "analysis_graph_builder")
"""Each after those that it imports."""


def import_graph_builder() -> Any:
    """An object with TFT's modules of the graph, by name: copies, that nobody else is given."""
    import tensorflow_transform

    PATCHES["transform-graph"].check_version()
    package = ModuleType(_PACKAGE)
    package.__path__ = [f"{folder}/beam" for folder in tensorflow_transform.__path__]
    with _let_stand({_PACKAGE: package, "apache_beam": _BeamTypes("apache_beam")}):
        for name in _MODULES:
            setattr(package, name, _copy_module(f"{_PACKAGE}.{name}"))
    return package


def _copy_module(name: str) -> ModuleType:
    spec = importlib.util.find_spec(name)
    assert spec, name
    assert spec.loader, name
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _let_stand(modules: dict[str, ModuleType]) -> Iterator[None]:
    """Let these be imported in the place of others."""
    before = {name: sys.modules[name] for name in modules if name in sys.modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(before)


class _BeamTypes(ModuleType):
    """In the place of Beam: every name is a class, which may be inherited from and subscripted."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Type


class _TypeOfTypes(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Type


class _Type(metaclass=_TypeOfTypes):
    def __class_getitem__(cls, _: object) -> type:
        return cls
