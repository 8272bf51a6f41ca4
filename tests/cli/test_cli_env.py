# SPDX-License-Identifier: Apache-2.0
import pytest

from stoker.cli.doctor import diagnose
from stoker.launchers.interpreters.venvs import RECIPES


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("STOKER_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def ready(home):
    """An environment that looks as if it had been made."""
    folder = home / "envs" / "tf-2.15"
    folder.mkdir(parents=True)
    (folder / "made").write_text(RECIPES["tf-2.15"].digest())
    return folder


def state_of_environments():
    (found,) = (one for one in diagnose({}, ".") if one.what == "Environments")
    return found


def test_the_list_shows_what_can_be_made_and_what_was(stoker, ready):
    rows = {row["name"]: row for row in stoker("env", "list", "--json").record}
    assert rows["tf-1.15"]["state"] == "not made"
    assert rows["tf-2.15"]["state"] == "ready"
    assert rows["tf-2.15"]["python"] == str(ready / "bin" / "python")
    assert "TensorFlow 1.15.5" in stoker("env", "list").out


def test_one_that_is_there_is_not_made_again(stoker, ready):
    result = stoker("env", "create", "tf-2.15")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("tf-2.15 is ready: ")


def test_one_that_nobody_knows_is_wrong_usage(stoker):
    result = stoker("env", "create", "tf-9")
    assert result.code == 2
    assert "'tf-9' is not one of 'tf-1.15'" in result.err


def test_one_that_cannot_be_made_fails_and_says_why(stoker, monkeypatch):
    monkeypatch.setattr("stoker.launchers.interpreters.venvs.find_python", lambda _: None)
    result = stoker("env", "create", "tf-1.15")
    assert result.code == 1
    assert "'tf-1.15' needs Python 3.7" in result.err


def test_one_that_is_removed_is_gone(stoker, ready):
    assert stoker("env", "remove", "tf-2.15").out == "tf-2.15 is removed.\n"
    assert not ready.exists()
    assert stoker("env", "remove", "tf-2.15").code == 2


def test_the_doctor_mentions_environments(ready):
    assert state_of_environments().found == "tf-2.15"
    (ready / "made").write_text("another recipe")
    assert state_of_environments().advice == "make it again: stoker env create tf-2.15"
    (ready / "made").unlink()
    assert state_of_environments().state == "note"
