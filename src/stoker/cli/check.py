# SPDX-License-Identifier: Apache-2.0
"""`stoker check`: what of a pipeline or a module is supported, read from its text alone.

The names that a file takes from `tfx` are looked up in our `tfx` package, which only re-exports;
nothing of the user's is imported or run.
"""

import ast
import inspect
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import click
from google.protobuf.message import Message

from stoker.cli.options import json_option
from stoker.cli.printing import print_answer
from stoker.errors import MissingPart
from stoker.user_code.imports import import_statements, scan
from stoker.user_code.keras_choice import choose_keras, users_environ

_USER_FUNCTIONS = {"run_fn", "trainer_fn", "tuner_fn", "preprocessing_fn"}


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """Something that will not work, and what to do about it."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@json_option
def check(file: str, as_json: bool) -> int:
    """Check that a pipeline or module FILE is supported, and show which Keras it gets.

    Nothing is run. The local files that it imports and the modules that it names are checked too.
    """
    files = _files_to_check(file)
    problems = sorted(problem for path in files for problem in _check_file(path))
    keras = {
        path: choose_keras(path, environ=users_environ())
        for path in files
        if _has_user_function(path)
    }
    record = {
        "files": files,
        "problems": [asdict(problem) for problem in problems],
        "keras": {
            path: {"version": needs.keras, "reason": needs.reason} for path, needs in keras.items()
        },
    }
    choices = [
        f"{path}: {f'Keras {needs.keras}' if needs.keras else 'no Keras'}, because {needs.reason}"
        for path, needs in keras.items()
    ]
    counts = f"Files read: {len(files)}. Problems: {len(problems)}."
    print_answer(record, *choices, *map(str, problems), counts, as_json=as_json)
    return 1 if problems else 0


def _files_to_check(file: str) -> list[str]:
    """The file, what it imports from its own folder, and the modules that it names in a string."""
    found: dict[str, None] = {}
    waiting = [file]
    while waiting:
        path = os.path.relpath(waiting.pop(0))
        if path not in found:
            found[path] = None
            imports = scan(path)
            waiting += [os.path.relpath(imported) for imported in imports.files]
            for where, tree in imports.trees.items():
                waiting += _modules_named_in(tree, os.path.dirname(where))
    return list(found)


def _modules_named_in(tree: ast.Module, folder: str) -> list[str]:
    """The files beside a pipeline that it names, as in `os.path.join(HERE, "module.py")`."""
    named = [
        os.path.join(folder, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.endswith(".py")
    ]
    return [path for path in named if os.path.isfile(path)]


def _check_file(path: str) -> list[Problem]:
    with open(path, "rb") as file:
        source = file.read()
    try:
        tree = ast.parse(source, path)
    except SyntaxError as error:
        return [Problem(path, error.lineno or 1, f"this is not Python: {error.msg}")]
    return find_problems(tree, path)


def _has_user_function(path: str) -> bool:
    tree = scan(path).trees.get(os.path.abspath(path))
    return tree is not None and any(
        isinstance(node, ast.FunctionDef) and node.name in _USER_FUNCTIONS for node in tree.body
    )


def find_problems(tree: ast.Module, path: str) -> list[Problem]:
    """What a file asks of TFX that is not here, each once, in order."""
    names = _Names()
    found: set[Problem] = set()

    def look(line: int, take: Callable[..., None], *what: Any) -> None:
        try:
            take(*what)
        except _Missing as missing:
            found.add(Problem(path, line, str(missing)))

    for statement in import_statements(tree):
        for alias in statement.names:
            look(statement.lineno, names.bind, statement, alias)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            look(node.lineno, names.meaning, node)
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                look(node.lineno, names.check_argument, node.func, keyword)
    return sorted(found)


class _Missing(Exception):
    """A name that our `tfx` package does not have; the message says what to do."""


class _Names:
    """What the names in a file stand for in the `tfx` package."""

    def __init__(self) -> None:
        self._bound: dict[str, Any] = {}

    def bind(self, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> None:
        """Remember what an import binds."""
        if isinstance(statement, ast.ImportFrom):
            module = statement.module or ""
            if not statement.level and _is_tfx(module):
                found = _member(_module(module), module, alias.name)
                self._bound[alias.asname or alias.name] = found
        elif _is_tfx(alias.name):
            found = _module(alias.name)
            self._bound[alias.asname or "tfx"] = found if alias.asname else _module("tfx")

    def check_argument(self, function: ast.expr, keyword: ast.keyword) -> None:
        """Refuse a keyword argument that what is called does not take."""
        try:
            called = self.meaning(function)
        except _Missing:  # which is said where the name is used
            return
        known = _arguments_of(called)
        if known is not None and keyword.arg and keyword.arg not in known:
            raise _Missing(
                f"{called.__name__} has no argument {keyword.arg!r}; "
                f"it has {', '.join(sorted(known))}."
            )

    def meaning(self, node: ast.expr) -> Any:
        """The object that a dotted name stands for; None if it is not from `tfx`."""
        if isinstance(node, ast.Name):
            return self._bound.get(node.id)
        if not isinstance(node, ast.Attribute):
            return None
        owner = self.meaning(node.value)
        if not isinstance(owner, ModuleType):
            return None  # members of classes and values are Python's to look up
        return _member(owner, owner.__name__, node.attr)


def _is_tfx(module: str) -> bool:
    return module.partition(".")[0] == "tfx"


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except MissingPart as missing:
        raise _Missing(str(missing)) from missing
    except ModuleNotFoundError as error:
        raise _Missing(f"{error.name} is not a module of TFX that Stoker has.") from error


def _member(owner: ModuleType, name: str, member: str) -> Any:
    """A name in a module, or a module in a package."""
    if member == "*":
        return None
    try:
        return getattr(owner, member)
    except MissingPart as missing:
        raise _Missing(str(missing)) from missing
    except AttributeError:
        if hasattr(owner, "__path__"):
            return _module(f"{name}.{member}")
        raise _Missing(f"{name} has no {member} in Stoker.") from None


def _arguments_of(called: Any) -> set[str] | None:
    """The keyword arguments that a class or function takes; None if any, or if it is unknown."""
    if inspect.isclass(called) and issubclass(called, Message):
        return set(called.DESCRIPTOR.fields_by_name)
    if not callable(called):
        return None
    parameters = inspect.signature(called).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return {
        parameter.name
        for parameter in parameters
        if parameter.kind is not parameter.POSITIONAL_ONLY
    }
