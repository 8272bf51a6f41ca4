# SPDX-License-Identifier: Apache-2.0
"""Loads what a user wrote into the worker: a module file, a dotted function, a pipeline's classes.

What the user's own code raises while it loads passes through untouched.
"""

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from stoker.any_python import modules
from stoker.any_python.flags import fill_in_flags
from stoker.any_python.modules import (
    PIPELINE_MODULE,
    execute_file,
    find_function,
    load_dotted,
    put_first_on_sys_path,
)
from stoker.user_code.imports import scan

__all__ = ["load_dotted", "load_function", "load_module_file", "load_object"]

_pipeline_files: dict[str, ModuleType] = {}
"""The pipeline files that this process has loaded: each is loaded once."""

_others_modules: dict[str, frozenset[str]] = {}
"""For each module file, the names that were in sys.modules before it was first loaded."""


def load_module_file(path: str | os.PathLike[str]) -> ModuleType:
    """The module in a file, loaded afresh, with what lies beside it importable.

    A file in a package gets its dotted name there, and its relative imports work.
    """
    file = os.path.abspath(path)
    if os.path.isfile(file):
        _forget_earlier_load(file)
    return modules.load_module_file(file)


def load_function(
    module_file: str | os.PathLike[str] | None = None,
    path: str | None = None,
    names: Sequence[str] = ("run_fn",),
) -> Callable[..., Any]:
    """The user's function: the first of `names` in `module_file`, or the one at a dotted `path`."""
    if (module_file is None) == (path is None):
        raise ValueError(
            f"Give either a module file or a dotted function, got module_file={module_file!r} and "
            f"path={path!r}."
        )
    if path is not None:
        return load_dotted(path)
    assert module_file is not None
    _, function = find_function(load_module_file(module_file), names, os.fspath(module_file))
    return function


def load_object(reference: str) -> Any:
    """What `package.module:Name` or `/path/of/file.py:Name` names.

    A file is a pipeline file: it is loaded once, and not at all where it is the program that runs;
    its main guard does not run.
    """
    place, colon, name = reference.rpartition(":")
    if not colon or not place or not name:
        raise ValueError(f"{reference!r} should be 'package.module:Name' or '/path/file.py:Name'.")
    is_file = os.path.isabs(place) or place.endswith(".py")
    found: Any = _load_pipeline_file(place) if is_file else importlib.import_module(place)
    fill_in_flags()
    for part in name.split("."):
        if not hasattr(found, part):
            raise ValueError(
                f"{place} defines no {name}. A step's function or class has to be defined at the "
                "top level of its file, not under the main guard."
            )
        found = getattr(found, part)
    return found


def _load_pipeline_file(path: str) -> ModuleType:
    file = os.path.abspath(path)
    program = sys.modules["__main__"]
    if os.path.abspath(getattr(program, "__file__", None) or os.devnull) == file:
        return program
    if file not in _pipeline_files:
        if not os.path.isfile(file):
            raise ValueError(f"There is no pipeline file {file}.")
        put_first_on_sys_path(os.path.dirname(file))
        count = len(_pipeline_files)
        name = f"{PIPELINE_MODULE}{count}" if count else PIPELINE_MODULE
        _pipeline_files[file] = execute_file(name, file)
    return _pipeline_files[file]


def _forget_earlier_load(file: str) -> None:
    """Drop what an earlier load of `file` brought in, so that edits are seen."""
    importlib.invalidate_caches()
    if file not in _others_modules:
        _others_modules[file] = frozenset(sys.modules)
        return
    kept, local = _others_modules[file], set(scan(file).files)
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        if name not in kept and origin and os.path.abspath(origin) in local:
            del sys.modules[name]
