# SPDX-License-Identifier: Apache-2.0
"""The ways in which a third party is changed: a function is replaced, or an import is followed.

(A third one, for functions of compiled libraries, is in imported_functions.py.)

    replace(keras.Model, "fit", fit)                undone by close(), or by leaving `with`
    after_import("tensorflow_transform", change)    change(module), now or once it is imported
    before_import("tensorflow.keras", prepare)      prepare(), when it is about to be imported
    import_as("keras", ["tf_keras"])                `import keras.x` gives tf_keras.x itself
    import_by_name("tfx_bsl.public.tfxio")          its names are imported when they are used
    import_when_used("googleapiclient.discovery")   it is executed when a name of it is used

Whoever changes a third party does it in this package, and has a line in registry.py.
"""

import ast
import contextlib
import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType
from typing import Any

Change = Callable[[ModuleType], object]


def replace(owner: Any, name: str, new: Any) -> contextlib.ExitStack:
    """Put `new` in the place of an attribute; to close what this returns puts the old one back."""
    undo = contextlib.ExitStack()
    if name in vars(owner):
        undo.callback(setattr, owner, name, vars(owner)[name])
    else:  # it is inherited
        undo.callback(delattr, owner, name)
    setattr(owner, name, new)
    return undo


def after_import(name: str, change: Change) -> None:
    """Change a module as soon as it has been imported, which this does not do.

    `change` must do no harm when it is called again: so it is if the module is imported afresh.
    """
    if loaded := sys.modules.get(name):
        change(loaded)
    elif change not in _finder.changes.setdefault(name, []):
        _finder.changes[name].append(change)
    _install_finder()


def before_import(name: str, prepare: Callable[[], object]) -> None:
    """Do something when a module is about to be imported; it may change where it is looked for."""
    _finder.prepared[name] = prepare
    _install_finder()


def import_as(
    name: str, real_names: Sequence[str], moved: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Let a name, and every module below it, mean the real ones, now and in later imports.

    What is not below the first of the real names is looked for below the others; `moved` says of
    some where they are below the first.
    """
    _finder.real_names[name] = real_names
    _finder.moved[name] = moved
    real_name = real_names[0]
    for loaded in [one for one in sys.modules if one.partition(".")[0] == name]:
        del sys.modules[loaded]
    for loaded in [one for one in sys.modules if one.partition(".")[0] == real_name]:
        sys.modules[name + loaded.removeprefix(real_name)] = sys.modules[loaded]
    _install_finder()


def import_by_name(name: str) -> None:
    """Let a module that does nothing but import names from others import each when it is used."""
    _finder.by_name.add(name)
    _install_finder()


def import_when_used(name: str) -> None:
    """Let a module, which must not be a package, be executed when a name of it is asked for."""
    _finder.when_used.add(name)
    _install_finder()


def find_homes(source: str) -> dict[str, str]:
    """Where each name of such a module is, as `module:name`; empty if it does anything else."""
    homes: dict[str, str] = {}
    for statement in ast.parse(source).body:
        match statement:
            case ast.ImportFrom(module=str(home), names=names, level=0):
                if names[0].name == "*":
                    return {}
                homes |= {one.asname or one.name: f"{home}:{one.name}" for one in names}
            case ast.Expr(value=ast.Constant()) | ast.Assign(targets=[ast.Name(id="__all__")]):
                pass
            case _:
                return {}
    return homes


class _Finder(MetaPathFinder):
    """The one finder that Stoker has for third parties; nobody else is found by it."""

    def __init__(self) -> None:
        self.changes: dict[str, list[Change]] = {}
        self.prepared: dict[str, Callable[[], object]] = {}
        self.real_names: dict[str, Sequence[str]] = {}
        self.moved: dict[str, Mapping[str, str]] = {}
        self.by_name: set[str] = set()
        self.when_used: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in self.prepared:
            self.prepared[fullname]()
        top, _, below = fullname.partition(".")
        if top in self.real_names:
            below = self.moved[top].get(below, below)
            reals = (f"{real_name}.{below}".rstrip(".") for real_name in self.real_names[top])
            return next(filter(None, (_find_alias(fullname, real) for real in reals)), None)
        if not any(fullname in names for names in (self.changes, self.by_name, self.when_used)):
            return None
        others = (one.find_spec for one in sys.meta_path if one is not self)
        spec = next(filter(None, (find(fullname, path, target) for find in others)), None)
        if spec and fullname in self.by_name:
            _put_off_imports(spec)
        elif spec and fullname in self.when_used:
            _put_off(spec)
        elif spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_and_change(module: ModuleType) -> None:
                execute(module)
                for change in self.changes[fullname]:
                    change(module)

            replace(spec.loader, "exec_module", execute_and_change)
        return spec


def _put_off_imports(spec: ModuleSpec) -> None:
    get_source = getattr(spec.loader, "get_source", lambda _: None)
    homes = find_homes(get_source(spec.name) or "")
    if not homes:
        return

    def execute(module: ModuleType) -> None:
        def find(name: str) -> Any:
            if name not in homes:
                raise AttributeError(f"module {spec.name!r} has no attribute {name!r}")
            home, _, real_name = homes[name].partition(":")
            found = getattr(importlib.import_module(home), real_name)
            setattr(module, name, found)
            return found

        vars(module).update(__getattr__=find, __all__=sorted(homes), __dir__=lambda: sorted(homes))

    replace(spec.loader, "exec_module", execute)


def _put_off(spec: ModuleSpec) -> None:
    assert spec.loader, spec.name
    execute = spec.loader.exec_module
    lock = threading.RLock()

    def execute_later(module: ModuleType) -> None:
        def find(name: str) -> Any:
            with lock:
                if vars(module).get("__getattr__") is find:
                    del vars(module)["__getattr__"]
                    execute(module)
            return getattr(module, name)

        vars(module)["__getattr__"] = find

    replace(spec.loader, "exec_module", execute_later)


def _find_alias(name: str, real_name: str) -> ModuleSpec | None:
    try:
        if importlib.util.find_spec(real_name) is None:
            return None
    except ModuleNotFoundError:  # what it is below is missing too
        return None
    return ModuleSpec(name, _AliasLoader(real_name))


class _AliasLoader(Loader):
    """Puts the real module in the place of the one that the import system made."""

    def __init__(self, real_name: str) -> None:
        self._real_name = real_name

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(self._real_name)


_finder = _Finder()


def _install_finder() -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
