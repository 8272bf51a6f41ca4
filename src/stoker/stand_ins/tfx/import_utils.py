# SPDX-License-Identifier: Apache-2.0
"""Classes and functions from modules and files, as `tfx.utils.import_utils` names it."""

import importlib
from typing import Any

from stoker.any_python.modules import load_module_file

__all__ = ["import_class_by_path", "import_func_from_module", "import_func_from_source"]


def import_class_by_path(class_path: str) -> Any:
    """The class at `package.module.Name`."""
    module_path, _, name = class_path.rpartition(".")
    return import_func_from_module(module_path, name)


def import_func_from_module(module_path: str, fn_name: str) -> Any:
    """The function of that name in `package.module`."""
    module = importlib.import_module(module_path)
    return _get(module, fn_name, module_path)


def import_func_from_source(source_path: str, fn_name: str) -> Any:
    """The function of that name in a Python file."""
    return _get(load_module_file(source_path), fn_name, source_path)


def _get(module: Any, name: str, place: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{place} defines no {name}.")
    return getattr(module, name)
