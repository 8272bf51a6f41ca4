# SPDX-License-Identifier: Apache-2.0
"""any_python runs where there is no Stoker, on Python 3.7 and whatever TensorFlow is there."""

import ast
import pathlib
import subprocess
import sys

import pytest
from bare_process import FOLDER

from stoker.launchers.interpreters import find_python

FILES = sorted(pathlib.Path(FOLDER).glob("*.py"))
WHERE_IT_IS_NEEDED = {
    "google",
    "tensorflow",
    "tensorflow_estimator",
    "tensorflow_metadata",
    "tensorflow_transform",
    "tfx_bsl",
}


def tree(file):
    return ast.parse(file.read_text(), str(file), feature_version=(3, 7))


def imported(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_syntax_is_that_of_python_3_7(file):
    assert isinstance(tree(file), ast.Module)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_at_the_top_only_the_standard_library_is_imported(file):
    assert set(imported(tree(file).body)) <= sys.stdlib_module_names


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_inside_functions_only_what_user_code_has_there_is_imported(file):
    assert set(imported(ast.walk(tree(file)))) - sys.stdlib_module_names <= WHERE_IT_IS_NEEDED


def test_python_3_7_itself_loads_every_module():
    python = find_python(["3.7"])
    if python is None:
        pytest.skip("there is no Python 3.7 on this machine")
    names = [file.stem for file in FILES if file.stem not in ("__init__", "start")]
    code = f"""
import importlib, sys
sys.path.insert(0, {FOLDER!r})
import start
start.load()
for name in {names!r}:
    importlib.import_module("stoker_any_python." + name)
"""
    subprocess.run([python, "-S", "-c", code], check=True)
