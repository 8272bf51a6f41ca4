# SPDX-License-Identifier: Apache-2.0
"""What of a user's code goes to another machine, and what a task is called there."""

import shutil

import pytest

from stoker.launchers.shipping import pack, unpack
from stoker.task import Task


def task_of(
    folder,
    executor="stoker.components.trainer.executor:GenericExecutor",
    user_file=None,
    **parameters,
):
    return Task(
        pipeline_name="p",
        run_id="r",
        node_id="Trainer",
        execution_id=1,
        executor=executor,
        user_file=user_file,
        parameters=parameters,
        import_paths=(str(folder), "/somewhere/else"),
    )


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    (folder / "parts").mkdir(parents=True)
    (folder / "module.py").write_text("import os, numpy, near\nfrom parts import far\n")
    (folder / "near.py").write_text("import json\n")
    (folder / "parts" / "__init__.py").touch()
    (folder / "parts" / "far.py").write_text("def run_fn(fn_args): pass\n")
    (folder / "unused.py").touch()
    return folder


def names(code, home):
    return sorted(path.removeprefix(f"{home}/") for path in code)


def test_a_module_goes_with_the_neighbours_that_it_imports(home):
    code = pack(task_of(home, user_file=str(home / "module.py")))
    assert names(code, home) == ["module.py", "near.py", "parts/__init__.py", "parts/far.py"]


def test_an_executor_that_is_named_by_its_package_goes_too(home):
    assert "parts/far.py" in names(pack(task_of(home, "parts.far:Executor")), home)


def test_our_own_steps_need_no_code(home):
    assert pack(task_of(home, number=3, text="x.y")) == {}


def test_where_the_same_files_are_there_nothing_is_written(home, tmp_path):
    task = task_of(home, user_file=str(home / "module.py"))
    assert unpack(task, pack(task), str(tmp_path / "code")) == task
    assert not (tmp_path / "code").exists()


@pytest.mark.parametrize("how", ["gone", "older"])
def test_where_they_are_not_the_task_names_what_came_along(home, tmp_path, how):
    file, folder = str(home / "module.py"), str(tmp_path / "code")
    task = task_of(home, f"{file}:Own", user_file=file, module_file=file, text="unused.py")
    code = pack(task)
    if how == "gone":
        shutil.rmtree(home)
    else:
        (home / "near.py").write_text("# an older one")
    here = unpack(task, code, folder)
    assert here.parameters == {"module_file": folder + file, "text": "unused.py"}
    assert here.executor == f"{folder}{file}:Own"
    assert here.user_file == folder + file
    assert here.import_paths == (f"{folder}{home}", str(home), "/somewhere/else")
    with open(here.parameters["module_file"], "rb") as opened:
        assert opened.read() == code[file]
    assert here.parameters["module_file"].removeprefix(here.moved_to) == file
