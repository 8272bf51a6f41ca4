# SPDX-License-Identifier: Apache-2.0
import importlib.metadata
import platform
import sys

import pytest

from stoker.errors import StokerError
from stoker.launchers.interpreters import finding as module
from stoker.launchers.interpreters.finding import find_python, inspect_python, scrub


def script(path, text):
    """An executable, which may say of itself that it is a Python."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def pretended(path, version, tensorflow=""):
    return script(path, f"""echo '{{"version": "{version}", "tensorflow": "{tensorflow}"}}'""")


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A machine without any Python but this one."""
    monkeypatch.setattr(module, "find_uv", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    return tmp_path


def test_a_python_is_asked_for_its_version_and_its_tensorflow():
    found = inspect_python(sys.executable)
    assert found.version == platform.python_version()
    assert found.tensorflow == importlib.metadata.version("tensorflow")
    assert str(found) == f"Python {found.version} with TensorFlow {found.tensorflow}"


def test_a_python_without_tensorflow_says_so(tmp_path):
    found = inspect_python(pretended(tmp_path / "python", "3.9.1"))
    assert str(found) == "Python 3.9.1 with no TensorFlow"


def test_a_python_is_asked_once(tmp_path):
    path = tmp_path / "python"
    first = inspect_python(pretended(path, "3.9.1"))
    pretended(path, "3.10.1")
    assert inspect_python(str(path)) is first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo hello", "is not a Python: it left with code 0, and its last words were: hello"),
        ("echo 'no such version' >&2; exit 127", "code 127, and its last words were: no such"),
        ("exit 3", "code 3, and its last words were: nothing"),
    ],
)
def test_what_is_no_python_is_named_with_its_last_words(tmp_path, text, message):
    with pytest.raises(StokerError, match=message):
        inspect_python(script(tmp_path / "python", text))


def test_a_file_that_cannot_be_run_is_no_python(tmp_path):
    (tmp_path / "python").write_text("")
    with pytest.raises(StokerError, match=r"cannot be run as a Python: .*Permission denied"):
        inspect_python(str(tmp_path / "python"))


def test_a_path_that_leads_nowhere_is_named(tmp_path):
    with pytest.raises(StokerError, match=r"There is no Python at .*/nowhere"):
        inspect_python(str(tmp_path / "nowhere"))


def test_what_is_meant_for_this_python_is_kept_from_others():
    kept = {"HOME": "/home/me", "TF_CONFIG": "{}", "TF_CPP_MIN_LOG_LEVEL": "3", "PATH": "/bin"}
    ours = ["TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"]
    assert scrub({**kept, **dict.fromkeys(ours, "1")}) == kept


def test_this_python_is_taken_where_it_fits(alone):
    version = ".".join(platform.python_version_tuple()[:2])
    assert find_python(["2.5", version]) == sys.executable


def test_a_python_is_found_on_the_path(alone):
    path = pretended(alone / "bin" / "python3.7", "3.7.16")
    assert find_python(["3.7"]) == path


def test_a_python_is_found_under_pyenv_behind_a_shim_that_complains(alone):
    script(alone / "bin" / "python3.7", "echo 'pyenv: python3.7: command not found' >&2; exit 127")
    path = pretended(alone / "pyenv" / "versions" / "3.7.16" / "bin" / "python", "3.7.16")
    assert find_python(["3.7"]) == path


def test_a_python_is_found_where_uv_knows_one(alone, monkeypatch):
    path = pretended(alone / "managed" / "python", "3.7.9")
    monkeypatch.setattr(module, "find_uv", lambda: script(alone / "uv", f"echo {path}"))
    assert find_python(["3.7"]) == path


def test_the_preferred_version_comes_first(alone):
    pretended(alone / "bin" / "python3.9", "3.9.1")
    path = pretended(alone / "bin" / "python3.7", "3.7.16")
    assert find_python(["3.7", "3.9"]) == path


def test_nothing_is_found_where_nothing_fits(alone):
    pretended(alone / "bin" / "python3.7", "3.8.1")
    assert find_python(["3.7"]) is None
