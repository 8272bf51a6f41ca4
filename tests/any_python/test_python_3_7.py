# SPDX-License-Identifier: Apache-2.0
"""any_python runs where there is no Stoker, on Python 3.7 and whatever TensorFlow is there."""

import ast
import pathlib
import subprocess
import sys

import pytest
from bare_process import FOLDER, execute

from stoker.launchers.interpreters.finding import find_python

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


@pytest.fixture
def python_3_7():
    return find_python(["3.7"]) or pytest.skip("there is no Python 3.7 on this machine")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["module.py", "package/module.py", "statistics.py"])
def test_python_3_7_itself_runs_a_task(python_3_7, tmp_path, name):
    module, out = tmp_path / name, tmp_path / "out"
    module.parent.mkdir(exist_ok=True)
    if module.parent != tmp_path:
        (module.parent / "__init__.py").touch()
    module.write_text(
        "import os, statistics\n"
        "from tfx.dsl.io import fileio\n"
        "def run_fn(fn_args):\n"
        "    fileio.makedirs(fn_args.serving_model_dir)\n"
        "    with fileio.open(os.path.join(fn_args.serving_model_dir, 'model'), 'w') as file:\n"
        "        file.write(str(statistics.mean([1, 3])))\n"
    )
    task = {"parameters": {"module_file": str(module)}}
    _, outcome = execute(task, python_3_7, serving_model_dir=str(out))
    assert outcome["failure"] is None
    assert (out / "model").read_text() == "2"


MAKES = {
    "nothing": "pass",
    "os.makedirs": "os.makedirs(folder)",
    "Path.mkdir": "pathlib.Path(folder).mkdir()",
    "copytree": "os.mkdir(folder + '-saved'); shutil.copytree(folder + '-saved', folder)",
}


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.7", "3.8", "3.9", "3.10", "3.12", "3.13"])
@pytest.mark.parametrize("makes", MAKES)
def test_the_models_folder_is_there_and_may_be_made(tmp_path, version, makes):
    python = find_python([version]) or pytest.skip(f"there is no Python {version} here")
    (tmp_path / "module.py").write_text(
        "import os, pathlib, shutil\n"
        "def run_fn(fn_args):\n"
        "    folder = fn_args.serving_model_dir\n"
        f"    {MAKES[makes]}\n"
        "    open(os.path.join(folder, 'model'), 'w').close()\n"
    )
    task = {"parameters": {"module_file": str(tmp_path / "module.py")}}
    _, outcome = execute(task, python, serving_model_dir=str(tmp_path / "out"))
    assert outcome["failure"] is None
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["model"]


@pytest.mark.slow
def test_python_3_7_itself_loads_every_module(python_3_7):
    names = [file.stem for file in FILES if file.stem not in ("__init__", "start")]
    code = f"""
import importlib, sys
sys.path.insert(0, {FOLDER!r})
import start
start.load()
for name in {names!r}:
    importlib.import_module("stoker_any_python." + name)
"""
    subprocess.run([python_3_7, "-S", "-c", code], check=True)
