# SPDX-License-Identifier: Apache-2.0
import re
import subprocess
import sys
import threading
import zipfile

import pytest

from stoker.errors import StokerError
from stoker.launchers.interpreters import venvs
from stoker.launchers.interpreters.venvs import (
    RECIPES,
    Recipe,
    create,
    find,
    list_venvs,
    remove,
    resolve,
)

THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("STOKER_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """A recipe for one package, which needs no index."""
    wheel = tmp_path / "pebble-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("pebble.py", "WEIGHT = 3\n")
        file.writestr(
            "pebble-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: pebble\nVersion: 1.0\n"
        )
        file.writestr(
            "pebble-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr("pebble-1.0.dist-info/RECORD", "")
    monkeypatch.setattr(venvs, "_HERE", str(tmp_path))
    (tmp_path / "small.txt").write_text(f"{wheel}\n")
    small = Recipe(name="small", pythons=(THIS,), summary="A pebble")
    monkeypatch.setitem(RECIPES, "small", small)
    return small


def weight(python):
    command = [python, "-c", "import pebble; print(pebble.WEIGHT)"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_an_environment_is_made_once_and_found_by_name(recipe, home):
    lines = []
    python = create(recipe, lines.append)
    assert weight(python) == "3"
    assert find("small") == python == str(home / "envs" / "small" / "bin" / "python")
    assert lines[0].startswith(f"small: Python {THIS}")
    assert create(recipe, lambda line: pytest.fail(line)) == python
    assert resolve("small").path == python


def test_bytecode_is_compiled_beforehand(recipe, home):
    create(recipe)
    assert list((home / "envs" / "small").rglob("pebble.*.pyc"))


@pytest.mark.slow
def test_what_comes_with_python_makes_it_where_there_is_no_uv(recipe, monkeypatch):
    monkeypatch.setattr(venvs, "find_uv", lambda: None)
    assert weight(create(recipe)) == "3"


def test_two_who_make_it_at_once_make_it_once(recipe):
    lines, found = [], []
    both = [
        threading.Thread(target=lambda: found.append(create(recipe, lines.append)))
        for _ in range(2)
    ]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert found == [find("small")] * 2
    assert sum(line.startswith("small: Python") for line in lines) == 1


def test_a_half_made_one_is_never_used_and_is_made_anew(recipe, home):
    half = home / "envs" / "small" / "bin" / "python"
    half.parent.mkdir(parents=True)
    half.write_text("not a Python")
    assert find("small") is None
    assert weight(create(recipe)) == "3"


def test_a_recipe_that_changed_makes_it_anew(recipe, tmp_path):
    create(recipe)
    with open(tmp_path / "small.txt", "a") as file:
        file.write("# another pebble\n")
    assert find("small") is None
    assert [one.current for one in list_venvs()] == [False]
    create(recipe)
    assert find("small")


def test_a_failure_shows_what_the_installer_said_and_leaves_nothing_to_use(recipe, tmp_path):
    (tmp_path / "small.txt").write_text(f"{tmp_path}/boulder-1.0-py3-none-any.whl\n")
    with pytest.raises(
        StokerError, match=r"(?s)'small' could not be made: .* left with code .*boulder"
    ):
        create(recipe)
    assert find("small") is None


def test_without_a_fitting_python_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(venvs, "find_python", lambda _: None)
    with pytest.raises(
        StokerError, match=r"needs Python 3\.11, 3\.10 or 3\.9.*uv python install 3\.11"
    ):
        create(RECIPES["tf-2.15"])


def test_one_that_was_made_can_be_removed(recipe):
    create(recipe)
    assert remove("small")
    assert list_venvs() == []
    assert not remove("small")


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden"])
def test_a_name_that_leads_elsewhere_is_refused(name):
    with pytest.raises(ValueError, match="takes the name of a folder"):
        remove(name)


def test_a_path_means_itself_and_a_bare_name_what_is_on_the_path(monkeypatch, tmp_path):
    assert resolve(sys.executable).path == sys.executable
    (tmp_path / "snake").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert resolve("snake").path == str(tmp_path / "snake")


def test_an_environment_that_is_not_there_yet_names_the_command_that_makes_it():
    with pytest.raises(StokerError, match=r"Make it with: stoker env create tf-1\.15"):
        resolve("tf-1.15")


def test_a_name_that_means_nothing_lists_what_can_be_made():
    with pytest.raises(StokerError, match=r"'tf-3' is neither .* tf-1\.15, tf-2\.15"):
        resolve("tf-3")


def test_a_python_that_is_too_old_is_refused(tmp_path):
    path = tmp_path / "python"
    path.write_text("""#!/bin/sh\necho '{"version": "3.6.15", "tensorflow": ""}'\n""")
    path.chmod(0o755)
    with pytest.raises(
        StokerError, match=r"is Python 3\.6\.15, and user code runs in 3\.7 or later"
    ):
        resolve(str(path))


@pytest.mark.parametrize("name", ["tf-1.15", "tf-2.15"])
def test_recipes_name_every_package_with_one_exact_version(name):
    with open(RECIPES[name].requirements) as file:
        lines = [line.strip() for line in file if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9.-]+==[0-9][0-9a-z.]*", line) for line in lines)
    assert len({line.partition("==")[0] for line in lines}) == len(lines)
