# SPDX-License-Identifier: Apache-2.0
"""Loads what a user wrote into the worker: a module file, a dotted function, a pipeline's classes.

What the user's own code raises while it loads passes through untouched.
"""

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from stoker.user_code.flags import fill_in_flags
from stoker.user_code.imports import package_of, scan

__all__ = ["load_dotted", "load_first", "load_function", "load_module_file", "load_object"]

_OURS = ("stoker", "tfx")
_PIPELINE_MODULE = "__stoker_main__"

_pipeline_files: dict[str, ModuleType] = {}
"""The pipeline files that this process has loaded: each is loaded once."""

_others_modules: dict[str, frozenset[str]] = {}
"""For each module file, the names that were in sys.modules before it was first loaded."""


def load_module_file(path: str | os.PathLike[str]) -> ModuleType:
    """The module in a file, loaded afresh, with what lies beside it importable.

    A file in a package gets its dotted name there, and its relative imports work.
    """
    file = os.path.abspath(path)
    if not os.path.isfile(file):
        raise ValueError(f"There is no module file {file}. Check module_file.")
    _forget_earlier_load(file)
    root, dotted_name = package_of(file)
    _put_first_on_sys_path(os.path.dirname(file), root)
    if "." in dotted_name and _is_free(dotted_name.partition(".")[0], root):
        parent, _, name = dotted_name.rpartition(".")
        package = importlib.import_module(parent)
        module = _execute(dotted_name, file)
        setattr(package, name, module)
        return module
    return _execute(_name_alone(file), file)


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
    _, function = load_first(module_file, names)
    return function


def load_first(
    module_file: str | os.PathLike[str], names: Sequence[str]
) -> tuple[str, Callable[..., Any]]:
    """The first of `names` that `module_file` defines, with the function itself."""
    module = load_module_file(module_file)
    fill_in_flags()
    for name in names:
        if hasattr(module, name):
            return name, _callable(getattr(module, name), f"{name} in {module_file}")
    wanted = " or ".join(names)
    raise ValueError(
        f"{module_file} defines no {wanted}; {_what_it_has(module)} Define {wanted} there."
    )


def load_dotted(path: str) -> Callable[..., Any]:
    """The function at `package.module.function`."""
    module_name, _, name = path.rpartition(".")
    if not module_name:
        raise ValueError(f"{path!r} names no module. Write it as 'package.module.function'.")
    module = importlib.import_module(module_name)
    fill_in_flags()
    if not hasattr(module, name):
        raise ValueError(f"{module_name} defines no {name}; {_what_it_has(module)}")
    return _callable(getattr(module, name), path)


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
        _put_first_on_sys_path(os.path.dirname(file))
        count = len(_pipeline_files)
        name = f"{_PIPELINE_MODULE}{count}" if count else _PIPELINE_MODULE
        _pipeline_files[file] = _execute(name, file)
    return _pipeline_files[file]


class _CurrentSource(SourceFileLoader):
    """Compiles the text as it is now; bytecode is only as fresh as a file's whole second."""

    def get_code(self, _fullname: str) -> CodeType:
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


def _execute(name: str, file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file, loader=_CurrentSource(name, file))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


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


def _put_first_on_sys_path(*folders: str) -> None:
    sys.path[:] = [*dict.fromkeys(folders), *(path for path in sys.path if path not in folders)]


def _is_free(package: str, root: str) -> bool:
    """Whether a package's name can mean the one below `root` in this process."""
    if package in sys.stdlib_module_names or package in _OURS:
        return False
    loaded = sys.modules.get(package)
    return loaded is None or os.path.join(root, package) in getattr(loaded, "__path__", ())


def _name_alone(file: str) -> str:
    """The name of a module that is in no package: its file's, unless that is somebody else's."""
    folder, file_name = os.path.split(file)
    name = os.path.splitext(file_name)[0]
    others = [path for path in sys.path if path != folder]
    if name in sys.modules or name in sys.stdlib_module_names or PathFinder.find_spec(name, others):
        if not any(isinstance(one, _NotFrom) and one.at(name, folder) for one in sys.meta_path):
            sys.meta_path.insert(0, _NotFrom(name, folder))
        return f"{name}__module_file"
    return name


class _NotFrom(MetaPathFinder):
    """Keeps a module file such as keras.py from being what `import keras` finds in its folder."""

    def __init__(self, name: str, folder: str) -> None:
        self._name = name
        self._folder = folder

    def at(self, name: str, folder: str) -> bool:
        """Whether this finder guards that file."""
        return (name, folder) == (self._name, self._folder)

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        return PathFinder.find_spec(fullname, [path for path in sys.path if path != self._folder])


def _callable(found: object, what: str) -> Callable[..., Any]:
    if not callable(found):
        raise ValueError(f"{what} is not a function but {type(found).__name__}: {found!r}.")
    return found


def _what_it_has(module: ModuleType) -> str:
    public = sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and callable(value)
        and getattr(value, "__module__", None) == module.__name__
    )
    return f"it has {', '.join(public)}." if public else "it has no public function."
