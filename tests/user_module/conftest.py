# SPDX-License-Identifier: Apache-2.0
"""A user's folder, written by a test, and an import system that is as it was afterwards."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Write = Callable[..., Path]
RunPython = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes one file below the test's folder: `write("pkg/a.py", "x = 1")`."""

    def write_file(name: str, text: str = "") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write_file


@pytest.fixture
def import_system() -> Iterator[None]:
    """Puts back what loading a user's module changes in this process."""
    path, finders, modules = list(sys.path), list(sys.meta_path), set(sys.modules)
    yield
    sys.path[:], sys.meta_path[:] = path, finders
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.fixture
def run_python() -> RunPython:
    """Runs a program in a process of its own and returns what it printed."""

    def run(program: str, *arguments: object) -> str:
        command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
        environ = {name: value for name, value in os.environ.items() if "KERAS" not in name}
        done = subprocess.run(
            command, capture_output=True, text=True, env={**environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
