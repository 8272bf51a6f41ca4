# SPDX-License-Identifier: Apache-2.0
import pytest

from stoker.launchers.interpreters.venvs import RECIPES
from stoker.user_code.known_packages import KNOWN, find_package, missing_package_hint


@pytest.mark.parametrize("module", [name for name, one in KNOWN.items() if one.environment])
def test_an_environment_that_is_named_has_the_package(module):
    with open(RECIPES[KNOWN[module].environment].requirements, encoding="utf-8") as file:
        assert f"\n{module.replace('_', '-')}==" in file.read()


@pytest.mark.parametrize("module", KNOWN)
def test_what_to_do_is_said_in_one_line(module):
    said = KNOWN[module].describe(module)
    assert said.startswith(module)
    assert "\n" not in said
    assert len(said) <= 240


@pytest.mark.parametrize(
    ("module", "pip"),
    [
        ("sklearn", "scikit-learn"),
        ("some_package", "some-package"),
        ("google.cloud.bigquery", "google-cloud-bigquery"),
    ],
)
def test_what_pip_calls_a_module(module, pip):
    assert find_package(module).pip == pip


@pytest.mark.parametrize(
    ("module", "is_sure"),
    [("sklearn", True), ("google.cloud.bigquery", True), ("my_constants", False)],
)
def test_what_may_be_a_file_of_the_users_own_is_not_said_to_be_a_package(module, is_sure):
    said = find_package(module).describe(module)
    assert said.startswith(f"{module} is not installed: pip install ") == is_sure
    assert ("or put its file beside this one" in said) != is_sure


def test_a_step_that_lacks_a_known_package_says_how_to_have_it():
    error = ModuleNotFoundError("No module named 'tensorflow_addons.x'", name="tensorflow_addons.x")
    assert "Trainer(python='tf-2.15')" in missing_package_hint(error)
    assert missing_package_hint(ModuleNotFoundError("x", name="x")) == ""
    assert missing_package_hint(ValueError("x")) == ""
