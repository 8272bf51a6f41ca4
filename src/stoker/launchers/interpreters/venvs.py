# SPDX-License-Identifier: Apache-2.0
"""Environments that can be made, and those that were: `$STOKER_HOME/envs/<name>`.

The file `<name>.txt` beside this one lists every package with its exact version, dependencies
included, and is installed as it stands: nothing is resolved, so an environment is the same
whenever it is made, and a package may be left out though another one asks for it.

One is made in place, because its scripts name their own path, under a lock that the system lets go
of if its holder dies. The file `made` in it is written last: without that, it is nobody's.
"""

import hashlib
import os
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from stoker.errors import StokerError
from stoker.launchers.interpreters.finding import (
    Interpreter,
    find_python,
    find_uv,
    inspect_python,
    scrub,
)
from stoker.storage.locks import hold_lock

_HERE = os.path.dirname(os.path.abspath(__file__))
_MADE = "made"
_OLDEST = (3, 7)
_LAST_LINES = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to make an environment."""

    name: str
    pythons: tuple[str, ...]
    """The versions of Python that its packages run on, the preferred one first."""
    summary: str

    @property
    def requirements(self) -> str:
        """The file with its packages, one `name==version` to a line."""
        return os.path.join(_HERE, f"{self.name}.txt")

    def digest(self) -> str:
        """What changes when the packages do."""
        with open(self.requirements, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="tf-1.15",
            pythons=("3.7",),
            summary="TensorFlow 1.15.5, Transform 1.11, Estimators",
        ),
        Recipe(
            name="tf-2.15",
            pythons=("3.11", "3.10", "3.9"),
            summary="TensorFlow 2.15.1, Keras 2, Transform 1.15, Estimators",
        ),
        Recipe(
            name="tfjs",
            pythons=("3.11", "3.12", "3.13"),
            summary="tensorflowjs 4.22, the converter to TensorFlow.js",
        ),
    )
}
"""The environments that `create` knows, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Venv:
    """An environment that is ready, or was until its recipe changed."""

    name: str
    folder: str
    current: bool

    @property
    def python(self) -> str:
        """Its interpreter."""
        return os.path.join(self.folder, "bin", "python")


def find_home() -> str:
    """Where Stoker keeps what all pipelines of a user share."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.abspath(os.environ.get("STOKER_HOME") or os.path.join(data, "stoker"))


def list_venvs() -> list[Venv]:
    """Every environment that is ready, by name."""
    folder = os.path.join(find_home(), "envs")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [one for one in map(_read_venv, names) if one]


def find(name: str) -> str | None:
    """The Python of the environment of this name; None if it was not made, or not so."""
    found = _read_venv(name)
    return found.python if found and found.current else None


def resolve(python: str) -> Interpreter:
    """The Python that is meant by a path, or by the name of an environment."""
    found = inspect_python(_path_of(python))
    if tuple(map(int, found.version.split(".")))[:2] < _OLDEST:
        raise StokerError(
            f"{found.path} is Python {found.version}, and user code runs in "
            f"{'.'.join(map(str, _OLDEST))} or later. Give another one."
        )
    return found


def _path_of(python: str) -> str:
    if os.sep in python:
        return os.path.abspath(os.path.expanduser(python))
    if found := find(python):
        return found
    if python in RECIPES:
        raise StokerError(
            f"There is no environment {python!r} here yet. Make it with: stoker env create {python}"
        )
    if on_path := shutil.which(python):
        return on_path
    raise StokerError(
        f"{python!r} is neither an environment nor a Python on the PATH. Give the path of a "
        f"Python, or make one of these with stoker env create: {', '.join(RECIPES)}."
    )


def create(recipe: Recipe, report: Callable[[str], None] = lambda _: None) -> str:
    """Make an environment if it is not there yet; its Python. `report` gets lines of progress."""
    if python := find(recipe.name):
        return python
    base = find_python(recipe.pythons)
    if base is None:
        *most, last = recipe.pythons
        wanted = f"{', '.join(most)} or {last}" if most else last
        raise StokerError(
            f"The environment {recipe.name!r} needs Python {wanted}, and none was found on the "
            f"PATH, under pyenv or by uv. Install one: uv python install {recipe.pythons[0]}, or "
            f"pyenv install {recipe.pythons[0]}."
        )
    with _lock(recipe.name):
        if python := find(recipe.name):  # somebody else has just made it
            return python
        folder = _folder(recipe.name)
        shutil.rmtree(folder, ignore_errors=True)  # half-made, or by an older recipe
        report(f"{recipe.name}: Python {inspect_python(base).version} at {base}")
        for command in _commands(recipe, base, folder):
            _run(command, recipe, report)
        with open(os.path.join(folder, _MADE), "w", encoding="utf-8") as file:
            file.write(recipe.digest())
    python = find(recipe.name)
    assert python
    return python


def remove(name: str) -> bool:
    """Remove an environment; False if there is none of this name."""
    if not os.path.isdir(_folder(name)):
        return False
    with _lock(name):
        shutil.rmtree(_folder(name))
    return True


def _folder(name: str) -> str:
    if os.path.basename(name) != name or name.startswith("."):
        raise ValueError(f"An environment takes the name of a folder, got {name!r}.")
    return os.path.join(find_home(), "envs", name)


def _read_venv(name: str) -> Venv | None:
    folder = _folder(name)
    try:
        with open(os.path.join(folder, _MADE), encoding="utf-8") as file:
            digest = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    recipe = RECIPES.get(name)
    return Venv(name=name, folder=folder, current=recipe is None or recipe.digest() == digest)


def _lock(name: str) -> AbstractContextManager[None]:
    """Held by whoever makes or removes an environment; others wait."""
    os.makedirs(os.path.join(find_home(), "envs"), exist_ok=True)
    return hold_lock(os.path.join(find_home(), "envs", f"{name}.lock"))


def _commands(recipe: Recipe, base: str, folder: str) -> Iterator[list[str]]:
    """With uv where there is one, else with what comes with Python; both compile bytecode."""
    python = os.path.join(folder, "bin", "python")
    if uv := find_uv():
        install = [uv, "pip", "install", "--python", python, "--compile-bytecode"]
        yield [uv, "venv", "--quiet", "--python", base, folder]
    else:
        install = [python, "-m", "pip", "install", "--disable-pip-version-check"]
        yield [base, "-m", "venv", folder]
    yield [*install, "--no-deps", "--requirement", recipe.requirements]


def _run(command: list[str], recipe: Recipe, report: Callable[[str], None]) -> None:
    last: deque[str] = deque(maxlen=_LAST_LINES)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=scrub(os.environ),
    ) as process:
        assert process.stdout
        for line in process.stdout:
            last.append(line)
            if not line.startswith(" + "):  # uv lists at the end what it has installed
                report(f"{recipe.name}: {line.strip()}")
    if process.returncode:
        raise StokerError(
            f"The environment {recipe.name!r} could not be made: {' '.join(command)} left with "
            f"code {process.returncode}.\n{''.join(last).rstrip()}"
        )
