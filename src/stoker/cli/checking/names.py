# SPDX-License-Identifier: Apache-2.0
"""What the names in a file stand for, in the packages that Stoker answers for or stands on.

Those that Stoker answers for are imported, which is quick: they are what a run would find. Those
that would bring TensorFlow with them are read as text.
"""

import ast
import contextlib
import inspect
import pkgutil
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from google.protobuf.message import Message

from stoker.any_python.lines import describe_unknown_argument
from stoker.dsl import BaseComponent, list_older_names
from stoker.errors import MissingPart
from stoker.patches.tensorflow_transform import DATASET_SCHEMA
from stoker.patches.tensorflow_transform_older import RENAMED
from stoker.stand_ins.named_only import NamedOnly, is_named_only
from stoker.stand_ins.tfx.missing import hint_at_stable_name
from stoker.user_code.imports import find_module
from stoker.user_code.installed_names import (
    describe_missing,
    describe_missing_member,
    is_found_in_compat,
    read_names,
)

_IMPORTED = ("tfx", "tensorflow_model_analysis", "tensorflow_data_validation", "ml_metadata")
_READ = ("tensorflow", "tensorflow_transform", "tfx_bsl")
FAMILY = (*_IMPORTED, *_READ)
"""The packages whose names are looked up, one by one."""

_MADE_LATE = ("tensorflow.compat", "tensorflow.estimator", "tensorflow.keras", "tfx_bsl.cc")
"""What a library, or a worker, makes while it is imported: no file says what is in it."""
_OLD_SCHEMA = "tensorflow_transform.tf_metadata.dataset_schema"
_GIVEN_BACK = (
    *(f"{_OLD_SCHEMA}.{name}" for name in DATASET_SCHEMA),
    *(f"tensorflow_transform.{name}" for name in RENAMED),
    "tfx_bsl.cc.tfx_bsl_extension.coders.RecordBatchToExamples",
)
"""What newer versions lack, and Stoker adds as they are imported."""
PROVIDERS = (
    *("tfx", "tensorflow_data_validation", "tensorflow_model_analysis"),
    *("tensorflow_transform", "tfx_bsl"),
)
"""The packages whose import lets a program have names of TensorFlow 1, and Keras 2."""
_HOMES = {
    "metadata_store_pb2": "ml_metadata.proto",
    **dict.fromkeys(
        ("anomalies_pb2", "schema_pb2", "statistics_pb2"), "tensorflow_metadata.proto.v0"
    ),
}
"""Modules that are looked for in `tfx.proto`."""


class Missing(Exception):
    """A name that is not there; the message says what to do."""


@dataclass(frozen=True, slots=True)
class ReadModule:
    """A module that was found and not imported."""

    name: str


class Names:
    """What the names in a file stand for."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        """The names of the family that were found."""
        self.of_tensorflow_1: list[str] = []
        """Those of them that are only there because Stoker adds them."""
        self.hidden: frozenset[str] = frozenset()
        """Names that mean something else just now: a function's own."""
        self._bound: dict[str, Any] = {}

    def bind(self, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> None:
        """Remember what an import binds; raises Missing."""
        if isinstance(statement, ast.ImportFrom):
            module = statement.module or ""
            if is_named_only(module):
                self._bound[alias.asname or alias.name] = NamedOnly(f"{module}.{alias.name}")
                return
            if statement.level or not is_family(module):
                self._bound.pop(alias.asname or alias.name, None)
            elif alias.name == "*":
                self._bound.update(_list_members(_find_module(module)))
            else:
                self._bound[alias.asname or alias.name] = self._take(
                    _find_module(module), alias.name
                )
        elif is_family(alias.name):
            found = _find_module(alias.name)
            self.used.add(alias.name)
            top = alias.name.partition(".")[0]
            self._bound[alias.asname or top] = found if alias.asname else _find_module(top)
        elif is_named_only(alias.name):
            top = alias.name.partition(".")[0]
            self._bound[alias.asname or top] = NamedOnly(alias.name if alias.asname else top)

    def assign(self, name: str, value: ast.expr) -> None:
        """Remember a name that stands for another one: `Trainer = tfx.components.Trainer`."""
        if name in self.hidden:
            return
        found = self.find(value) if isinstance(value, ast.Name | ast.Attribute) else None
        if found is None:
            self._bound.pop(name, None)
        else:
            self._bound[name] = found

    def find(self, node: ast.expr) -> Any:
        """The object that a dotted name stands for; None if it is not known. Raises Missing."""
        if isinstance(node, ast.Name):
            return None if node.id in self.hidden else self._bound.get(node.id)
        if not isinstance(node, ast.Attribute):
            return None
        owner = self.find(node.value)
        if isinstance(owner, NamedOnly):
            return getattr(owner, node.attr, None)
        # Members of classes and values are Python's to look up.
        return self._take(owner, node.attr) if isinstance(owner, ModuleType | ReadModule) else None

    def check_arguments(self, call: ast.Call) -> None:
        """Raise Missing for a keyword argument that what is called does not take."""
        called = self.find(call.func)
        known = _list_arguments(called)
        if known is None:
            return
        is_step = inspect.isclass(called) and issubclass(called, BaseComponent)
        older = list_older_names(called) if is_step else set()
        for keyword in call.keywords:
            if keyword.arg and keyword.arg not in {*known, *older}:
                raise Missing(describe_unknown_argument(called.__name__, keyword.arg, known))

    def check_use(self, call: ast.Call) -> None:
        """Raise Missing if a class that can only be named is called, or given to what is."""
        for node in (call.func, *call.args, *(keyword.value for keyword in call.keywords)):
            if reason := getattr(self.find(node), "MISSING_PART", ""):
                raise Missing(reason)

    def _take(self, owner: ModuleType | ReadModule | None, name: str) -> Any:
        if owner is None:
            return None
        found = _find_member(owner, name)
        module = owner.name if isinstance(owner, ReadModule) else owner.__name__
        self.used.add(f"{module}.{name}")
        if is_found_in_compat(f"{module}.{name}"):
            self.of_tensorflow_1.append(f"{module}.{name}")
        return found


def is_family(module: str) -> bool:
    """Whether a module is in a package whose names are looked up."""
    return module.partition(".")[0] in FAMILY


def _find_module(name: str) -> ModuleType | ReadModule | None:
    if name.partition(".")[0] in _IMPORTED:
        return _import(name)
    if _is_below(name, (*_MADE_LATE, *_GIVEN_BACK)):
        return None
    if name != _OLD_SCHEMA and find_module(name) is None:
        raise Missing(describe_missing(name))
    return ReadModule(name)


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and (hint := hint_at_stable_name(name)):
            raise Missing(f"there is no {name}{hint}.") from error
        if home := _find_home(name):
            raise Missing(f"there is no {name}: {home} has it.") from error
        raise Missing(str(error)) from error


def _find_home(name: str) -> str | None:
    """The module that has what was looked for in the package above it."""
    package, _, last = name.rpartition(".")
    if last in _HOMES:
        return _HOMES[last]
    try:
        places = import_module(package).__path__
    except (AttributeError, ImportError):
        return None
    for one in pkgutil.iter_modules(places, f"{package}."):
        with contextlib.suppress(ImportError):
            if hasattr(import_module(one.name), last):
                return one.name
    return None


def _find_member(owner: ModuleType | ReadModule, name: str) -> Any:
    """A name in a module, or a module in a package."""
    if isinstance(owner, ReadModule):
        return _find_read_member(owner.name, name)
    try:
        return getattr(owner, name)
    except MissingPart as missing:
        raise Missing(str(missing)) from missing
    except AttributeError:
        if hasattr(owner, "__path__"):
            return _import(f"{owner.__name__}.{name}")
        raise Missing(describe_missing_member(owner.__name__, name)) from None


def _find_read_member(module: str, name: str) -> ReadModule | None:
    path = f"{module}.{name}"
    if _is_below(path, (*_MADE_LATE, *_GIVEN_BACK)):
        return None
    if path == _OLD_SCHEMA:
        return ReadModule(path)
    names = {} if module == _OLD_SCHEMA else read_names(module)
    if names is None or name.startswith("__"):
        return None
    home = names.get(name, path)
    if find_module(home):
        return ReadModule(home)
    if name in names or is_found_in_compat(path):
        return None
    raise Missing(describe_missing(path))


def _is_below(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def _list_members(module: ModuleType | ReadModule | None) -> dict[str, Any]:
    """What `from module import *` binds; of a module that is only read, nothing is known."""
    if not isinstance(module, ModuleType):
        return {}
    public = [name for name in vars(module) if not name.startswith("_")]
    names = getattr(module, "__all__", public)
    return {name: getattr(module, name) for name in names if hasattr(module, name)}


def _list_arguments(called: Any) -> list[str] | None:
    """The keyword arguments that a class or function takes; None if any, or if it is unknown."""
    if inspect.isclass(called) and issubclass(called, Message):
        return list(called.DESCRIPTOR.fields_by_name)
    if not callable(called):
        return None
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):  # of C code
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return [one.name for one in parameters if one.kind is not one.POSITIONAL_ONLY]
