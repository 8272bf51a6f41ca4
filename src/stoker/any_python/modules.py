# SPDX-License-Identifier: Apache-2.0
"""Loads what a user wrote into this process: a module file, a function, a pipeline's classes.

What the user's own code raises while it loads passes through untouched.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import sysconfig
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from types import CodeType, ModuleType
from typing import Any, Callable, Mapping, Sequence

from .launcher_link import report_doing
from .own_code import OUR_PACKAGES, OUR_PLACES, PACKAGES_DIR
from .surroundings import fill_in_flags

PIPELINE_MODULE = "__stoker_main__"
"""The name under which a worker loads a pipeline file."""

_pipeline_files: dict[str, ModuleType] = {}
"""The pipeline files that this process has loaded: each is loaded once."""

_RELATIVE_IMPORT = re.compile(rb"^[ \t]*from[ \t]+(\.+)", re.MULTILINE)
_STANDARD_LIBRARY = str(sysconfig.get_path("stdlib")) + os.sep


def load_module_file(path: str | os.PathLike[str]) -> ModuleType:
    """The module in a file, with what lies beside it importable.

    A file in a package gets its dotted name there, and its relative imports work.
    """
    file = os.path.abspath(path)
    if not os.path.isfile(file):
        raise ValueError(f"There is no module file {file}. Check module_file.")
    report_doing(f"importing {os.path.basename(file)}")
    importlib.invalidate_caches()  # the fork server may have looked there before the file was
    root, dotted_name = package_of(file)
    put_first_on_sys_path(os.path.dirname(file), root)
    if "." in dotted_name and _is_free(dotted_name.partition(".")[0], root):
        parent, _, name = dotted_name.rpartition(".")
        package = importlib.import_module(parent)
        module = execute_file(dotted_name, file)
        setattr(package, name, module)
        return module
    return execute_file(_choose_name(file), file)


def load_named(
    parameters: Mapping[str, Any], names: Sequence[str]
) -> tuple[str, Callable[..., Any]]:
    """The user's function and which of `names` it is: at a dotted path, or in module_file."""
    for name in names:
        if parameters.get(name):
            return name, load_dotted(parameters[name])
    module_file = parameters.get("module_file")
    if not module_file:
        raise ValueError(f"The step needs a module_file, or a dotted {' or '.join(names)}.")
    return find_function(load_module_file(module_file), names, module_file)


def find_function(
    module: ModuleType, names: Sequence[str], module_file: str
) -> tuple[str, Callable[..., Any]]:
    """The first of `names` that a module defines, with the function itself."""
    fill_in_flags()
    for name in names:
        if hasattr(module, name):
            return name, _check_callable(getattr(module, name), f"{name} in {module_file}")
    wanted = " or ".join(names)
    raise ValueError(
        f"{module_file} defines no {wanted}; {_describe_content(module)} Define {wanted} there."
    )


def load_dotted(path: str) -> Callable[..., Any]:
    """The function at `package.module.function`."""
    module_name, _, name = path.rpartition(".")
    if not module_name:
        raise ValueError(f"{path!r} names no module. Write it as 'package.module.function'.")
    module = importlib.import_module(module_name)
    fill_in_flags()
    if not hasattr(module, name):
        raise ValueError(
            f"{module_name} defines no {name}; {_describe_content(module)} Define it there."
        )
    return _check_callable(getattr(module, name), path)


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
    what is under its main guard, or below the line that starts the run, is not executed.
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
                "top level of its file, above the line that starts the run, and not under the main "
                "guard."
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
            raise ValueError(f"There is no pipeline file {file}. Check the path.")
        put_first_on_sys_path(os.path.dirname(file))
        count = len(_pipeline_files)
        name = f"{PIPELINE_MODULE}{count}" if count else PIPELINE_MODULE
        _pipeline_files[file] = execute_file(name, file)
    return _pipeline_files[file]


def package_of(module_file: str | os.PathLike[str]) -> tuple[str, str]:
    """Where a file's outermost package lies, and the file's dotted name from there.

    A file in a folder without `__init__.py`, or whose name no import statement can say, is a module
    of its own: its folder, its bare name. If it has relative imports, the folders that those reach
    are a package, as Python lets them be.
    """
    folder, name = os.path.split(os.path.splitext(os.path.abspath(module_file))[0])
    num_left = 0 if _is_package(folder) else _count_dots(module_file)
    while _is_package(folder) or num_left:
        num_left = max(0, num_left - 1)
        folder, package = os.path.split(folder)
        name = f"{package}.{name}"
    return folder, name


def _is_package(folder: str) -> bool:
    name = os.path.basename(folder)
    return name.isidentifier() and os.path.isfile(os.path.join(folder, "__init__.py"))


def _count_dots(module_file: str | os.PathLike[str]) -> int:
    """How many folders up the relative imports of a file reach, its own being the first."""
    try:
        with open(module_file, "rb") as file:
            return max(map(len, _RELATIVE_IMPORT.findall(file.read())), default=0)
    except OSError:
        return 0


def put_first_on_sys_path(*folders: str) -> None:
    """Let imports look into `folders` before anything else."""
    sys.path[:] = [*dict.fromkeys(folders), *(path for path in sys.path if path not in folders)]


class RunAgain(BaseException):
    """Ends the loading of a file at the line that starts the run which this process works for."""


_num_loading = 0


def stop_loading_here() -> None:
    """Where a run starts: a file that is only being loaded for a step does not get further.

    A pipeline file needs no main guard that way, and nor does a module that lies in the same file.
    """
    if _num_loading:
        raise RunAgain("A file that a step loads starts a run.")


class _CurrentSource(SourceFileLoader):
    """Compiles the text as it is now; bytecode is only as fresh as a file's whole second."""

    def get_code(self, _fullname: str) -> CodeType:
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code

    def exec_module(self, module: ModuleType) -> None:
        global _num_loading
        _num_loading += 1
        try:
            super().exec_module(module)
        except RunAgain:
            pass  # what the step needs is defined above that line, or is missed by its name
        finally:
            _num_loading -= 1


_find_source = FileFinder.path_hook(
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (_CurrentSource, SOURCE_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)


def _find_users_source(folder: str) -> Any:
    """Finds modules in a folder of the user's own: one of those that sys.path_hooks asks."""
    if not _is_users_folder(folder):
        raise ImportError(f"{folder} is not the user's")
    return _find_source(folder)


def _is_users_folder(folder: str) -> bool:
    ours = folder == PACKAGES_DIR or folder.startswith(OUR_PLACES)
    return not ours and not is_installed(os.path.join(folder, ""))


def import_current_sources() -> None:
    """From now on, let imports from the user's own folders compile the text as it is now."""
    if _find_users_source in sys.path_hooks:
        return
    sys.path_hooks.insert(0, _find_users_source)
    for folder in list(sys.path_importer_cache):
        if _is_users_folder(folder):
            del sys.path_importer_cache[folder]


def execute_file(name: str, file: str) -> ModuleType:
    """The module that a file makes under a name; one that fails is not left behind."""
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


def _is_free(package: str, root: str) -> bool:
    """Whether a package's name can mean the one below `root` in this process."""
    if package in OUR_PACKAGES or is_standard(package):
        return False
    loaded = sys.modules.get(package)
    return loaded is None or os.path.join(root, package) in getattr(loaded, "__path__", ())


def _choose_name(file: str) -> str:
    """The name of a module that is in no package: its file's, unless that is somebody else's."""
    folder, file_name = os.path.split(file)
    name = os.path.splitext(file_name)[0]
    others = [path for path in sys.path if path != folder]
    if name in sys.modules or is_standard(name) or PathFinder.find_spec(name, others):
        if not any(
            isinstance(known, _NotFrom) and known.at(name, folder) for known in sys.meta_path
        ):
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


def is_standard(name: str) -> bool:
    """Whether a module of that name is in the standard library."""
    names = getattr(sys, "stdlib_module_names", None)  # since Python 3.10
    if names is not None:
        return name in names
    return name in sys.builtin_module_names or bool(PathFinder.find_spec(name, [_STANDARD_LIBRARY]))


def is_installed(path: str) -> bool:
    """Whether a file belongs to an installed package or to the standard library."""
    if {"site-packages", "dist-packages"} & set(path.split(os.sep)):
        return True
    return path.startswith(_STANDARD_LIBRARY)


def _check_callable(found: Any, what: str) -> Callable[..., Any]:
    if not callable(found):
        raise ValueError(
            f"{what} is not a function but {type(found).__name__}: {found!r}. Define it with def."
        )
    function: Callable[..., Any] = found
    return function


def _describe_content(module: ModuleType) -> str:
    public = sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and callable(value)
        and getattr(value, "__module__", None) == module.__name__
    )
    return f"it has {', '.join(public)}." if public else "it has no public function."
