# SPDX-License-Identifier: Apache-2.0
"""Loads the user's module in another interpreter, with what lies beside it importable."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import sysconfig
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, Callable, Mapping, Sequence

from .failures import HERE


def load_function(
    parameters: Mapping[str, Any], names: Sequence[str]
) -> tuple[str, Callable[..., Any]]:
    """The user's function and which of `names` it is: in module_file, or at a dotted path."""
    for name in names:
        if parameters.get(name):
            return name, _load_dotted(parameters[name])
    module_file = parameters["module_file"]
    module = load_module_file(module_file)
    for name in names:
        if hasattr(module, name):
            return name, _callable(getattr(module, name), f"{name} in {module_file}")
    wanted = " or ".join(names)
    raise ValueError(f"{module_file} defines no {wanted}. Define {wanted} there.")


def load_module_file(path: str) -> ModuleType:
    """The module in a file; one in a package gets its dotted name there."""
    file = os.path.abspath(path)
    if not os.path.isfile(file):
        raise ValueError(f"There is no module file {file}. Check module_file.")
    root, dotted_name = _package_of(file)
    folder = os.path.dirname(file)
    if _is_taken(dotted_name.partition(".")[0], (root, folder)):
        # The file of a module called keras.py must not be what `import keras` finds.
        dotted_name = f"{os.path.splitext(os.path.basename(file))[0]}__module_file"
        sys.path[:] = [path for path in sys.path if path != folder] + [folder]
    else:
        first = list(dict.fromkeys([folder, root]))
        sys.path[:] = first + [path for path in sys.path if path not in first]
    return _execute(dotted_name, file)


def loaded_files() -> list[str]:
    """The user's own files that this process has loaded as modules."""
    found = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and not _is_installed(os.path.abspath(file)):
            found.add(os.path.abspath(file))
    return sorted(found)


def _load_dotted(path: str) -> Callable[..., Any]:
    module_name, _, name = path.rpartition(".")
    module = importlib.import_module(module_name)
    if not hasattr(module, name):
        raise ValueError(f"{module_name} defines no {name}.")
    return _callable(getattr(module, name), path)


def _callable(found: Any, what: str) -> Callable[..., Any]:
    if not callable(found):
        raise ValueError(f"{what} is not a function but {type(found).__name__}: {found!r}.")
    function: Callable[..., Any] = found
    return function


def _package_of(file: str) -> tuple[str, str]:
    """Where a file's outermost package lies, and the file's dotted name from there."""
    folder, name = os.path.split(os.path.splitext(file)[0])
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        name = f"{package}.{name}"
    return folder, name


def _is_taken(name: str, own_folders: Sequence[str]) -> bool:
    """Whether a name means something else in this interpreter."""
    others = [path for path in sys.path if path not in own_folders]
    return name in sys.modules or PathFinder.find_spec(name, others) is not None


def _execute(name: str, file: str) -> ModuleType:
    parent, _, last = name.rpartition(".")
    package = importlib.import_module(parent) if parent else None
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if package:
        setattr(package, last, module)
    return module


def _is_installed(path: str) -> bool:
    if {"site-packages", "dist-packages"} & set(path.split(os.sep)):
        return True
    return path.startswith((str(sysconfig.get_path("stdlib")) + os.sep, HERE + os.sep))
