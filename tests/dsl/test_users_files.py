# SPDX-License-Identifier: Apache-2.0
"""Paths in a pipeline: relative to the working folder, or to the file that names them."""

import sys

import pytest

from stoker.dsl.users_files import find_users_path
from stoker.runner.plan import plan_step

DECLARE = """
from tfx import v1 as tfx

example_gen = tfx.components.CsvExampleGen(input_base="data")
trainer = tfx.components.Trainer(
    module_file="module.py", examples=example_gen.outputs["examples"]
)
by_name = tfx.components.Trainer(
    module_file="pack.module", examples=example_gen.outputs["examples"]
).with_id("by_name")
importer = tfx.dsl.Importer(
    source_uri="data", artifact_type=tfx.types.standard_artifacts.Examples
)
"""


@pytest.fixture
def declared(tmp_path, monkeypatch):
    """A pipeline file's steps, declared while the working folder is another one."""
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "data.csv").touch()
    (folder / "module.py").write_text("def run_fn(fn_args): ...")
    (folder / "pack").mkdir()
    (folder / "pack" / "module.py").write_text("def run_fn(fn_args): ...")
    (folder / "declaring_pipeline.py").write_text(DECLARE)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "declaring_pipeline", raising=False)
    import declaring_pipeline

    return declaring_pipeline


def plan(node):
    return plan_step(node, node.spec.values({}))


def test_data_and_modules_are_found_beside_the_file_that_names_them(declared, tmp_path):
    project = tmp_path / "project"
    assert plan(declared.example_gen).parameters["input_base"] == str(project / "data")
    assert plan(declared.trainer).user_file == str(project / "module.py")
    assert plan(declared.trainer).parameters["module_file"] == str(project / "module.py")
    assert declared.importer.artifact({}).uri == str(project / "data")


def test_the_working_folder_comes_first(declared, tmp_path):
    (tmp_path / "elsewhere" / "module.py").touch()
    (tmp_path / "elsewhere" / "data").mkdir()
    assert plan(declared.trainer).parameters["module_file"] == "module.py"
    assert plan(declared.example_gen).parameters["input_base"] == "data"
    assert declared.importer.artifact({}).uri == str(tmp_path / "elsewhere" / "data")


def test_a_module_may_go_by_its_name_in_a_package(declared, tmp_path):
    found = plan(declared.by_name)
    assert found.user_file == str(tmp_path / "project" / "pack" / "module.py")
    assert found.parameters["module_file"] == found.user_file


def test_what_is_nowhere_stays_as_it_was_given(declared, tmp_path):
    (tmp_path / "project" / "module.py").unlink()
    assert plan(declared.trainer).parameters["module_file"] == "module.py"


@pytest.mark.parametrize("path", ["", "/abs/olute", "gs://bucket/data"])
def test_only_relative_paths_are_looked_for(path, tmp_path):
    assert find_users_path(path, str(tmp_path)) == path


def test_a_pattern_is_found_by_what_it_matches(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").touch()
    monkeypatch.chdir("/")
    assert find_users_path("data/*.csv", str(tmp_path)) == str(tmp_path / "data" / "*.csv")
