# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest
from tfx.types import Artifact, artifact_utils, standard_artifacts

TELLS_WHAT_IT_WAS_TOLD = """
import json, os

def run_fn(fn_args):
    os.makedirs(fn_args.serving_model_dir)
    with open(os.path.join(fn_args.serving_model_dir, "told.json"), "w") as file:
        json.dump(vars(fn_args), file, default=repr)
"""


@pytest.fixture(autouse=True)
def _own_sys_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def module_file(tmp_path) -> str:
    file = tmp_path / "telling_module.py"
    file.write_text(TELLS_WHAT_IT_WAS_TOLD)
    return str(file)


def artifact_at(kind: type[Artifact], folder: Path, **files: str) -> Artifact:
    """An artifact in `folder`, with `files` by name (`__` for a dot) and content."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    artifact = kind()
    artifact.uri = str(folder)
    return artifact


@pytest.fixture
def make(tmp_path):
    """Makes an artifact of a kind below the test's folder."""

    def make_one(kind: type[Artifact], name: str, **files: str) -> Artifact:
        return artifact_at(kind, tmp_path / name, **files)

    return make_one


@pytest.fixture
def examples(make):
    """Makes Examples with the splits train and eval."""

    def make_examples(name: str = "examples") -> standard_artifacts.Examples:
        artifact = make(standard_artifacts.Examples, name)
        artifact.split_names = artifact_utils.encode_split_names(["train", "eval"])
        return artifact

    return make_examples
