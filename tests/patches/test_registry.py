# SPDX-License-Identifier: Apache-2.0
"""Patches say which versions they were tried with, and whether what is here is one of them."""

import ast
import tomllib
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from stoker import patches
from stoker.errors import StokerError
from stoker.patches.registry import PATCHES, Patch

FOLDER = Path(patches.__file__).parent
ROOT = Path(__file__).parents[2]
PATCH = Patch(
    library="no-such-library",
    what="it sings",
    why="for joy",
    tried="1.2 to 1.10",
    instead=", or not",
)


@pytest.mark.parametrize(
    ("version", "fits"),
    [("1.2", True), ("1.10.3", True), ("1.9.0rc1", True), ("1.1.9", False), ("1.11", False)],
)
def test_a_version_fits_if_it_is_in_the_range(version, fits):
    assert PATCH.fits(version) is fits


def test_another_version_is_told_once_with_the_range():
    with pytest.warns(
        UserWarning, match=r"it sings\). That was tried with 1\.2 to 1\.10, and this is 7\.1"
    ):
        PATCH.check_version("7.1")
    with warnings.catch_warnings(action="error"):
        PATCH.check_version("7.1")
        PATCH.check_version("1.3")
        PATCH.check_version()  # it is not installed


def test_private_names_that_are_gone_are_an_error_with_what_to_do():
    PATCH.check_names(SimpleNamespace(_there=1), "_there")
    with pytest.raises(StokerError, match=r"has no _gone, _lost\. Install one of those, or not\."):
        PATCH.check_names(SimpleNamespace(_there=1), "_there", "_gone", "_lost")


def test_private_functions_that_changed_are_an_error():
    PATCH.check_parameters(lambda self, step: None, "self", "step")
    with pytest.raises(StokerError, match=r"takes \('self',\), not \('self', 'step'\)"):
        PATCH.check_parameters(lambda self: None, "self", "step")


@pytest.mark.parametrize("name", PATCHES)
def test_every_patch_was_tried_with_what_is_installed_here(name):
    version = PATCHES[name].installed_version()
    assert version is None or PATCHES[name].fits(version)


@pytest.mark.parametrize("name", PATCHES)
def test_every_patch_is_in_a_file_of_the_package(name):
    users = [
        file.name
        for file in FOLDER.glob("*.py")
        if file.name != "registry.py" and f'PATCHES["{name}"]' in file.read_text()
    ]
    assert users or name == "tensorflowjs-imports"  # a program for another interpreter


def test_every_library_that_is_patched_has_a_range_in_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *(one for extra in extras.values() for one in extra)]
    with_range = {one.partition(">=")[0].partition("[")[0] for one in needed if "<" in one}
    assert {one.library for one in PATCHES.values()} - with_range == {"mlflow", "tensorflowjs"}


def test_there_is_one_finder_for_third_parties():
    """Besides, a user's own keras.py is kept apart, and packages of ours tell what they lack."""
    source = FOLDER.parent
    found = {
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if getattr(node, "attr", "") == "meta_path"
    }
    own = {"stand_ins/missing_modules.py", "stand_ins/on_path/_stoker_on_import.py"}
    assert found == {"patches/changes.py", "any_python/modules.py", *own}
