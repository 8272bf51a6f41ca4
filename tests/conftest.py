import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from stoker.launchers.processes import WarmProcesses
from stoker.runner import intercept
from stoker.runner.plan import RunOptions

# A shell starts background jobs with Ctrl-C ignored, and their children inherit that; the tests
# that press Ctrl-C need children that listen.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long one example takes says nothing about the code on a machine that has other things to do.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import the files that are all about what is left out, such as TensorFlow."""
    left_out = re.findall(r"\bnot (\w+)", config.option.markexpr)
    if not left_out or collection_path.suffix != ".py":
        return None
    marks = rf"^pytestmark = (?:\[[^\]]*|.*)\bpytest\.mark\.({'|'.join(left_out)})\b"
    return bool(re.search(marks, collection_path.read_text(), re.MULTILINE)) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the rewritten assertions of test files, for which half of the collection is spent."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", False)
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests come first, so that several processes end at about the same time."""
    for item in items:
        if "run_python" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)  # it starts whole programs
    weights: dict[Path, int] = {}
    for item in items:
        weight = 2 * bool(item.get_closest_marker("slow")) + bool(item.get_closest_marker("tf"))
        weights[item.path] = max(weights.get(item.path, 0), weight)
    items.sort(key=lambda item: -weights[item.path])


def _as_in_a_program() -> Generator[None, object, object]:
    """Without the variable that says which test runs: fork servers are for one set of variables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)
        return (yield)


pytest_fixture_setup = pytest.hookimpl(wrapper=True)(_as_in_a_program)
pytest_pyfunc_call = pytest.hookimpl(wrapper=True)(_as_in_a_program)


@pytest.fixture(autouse=True)
def _environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """What libraries set in one test is not there for those that come after it."""
    for name in _SET_BY_LIBRARIES - _AT_START.keys():
        monkeypatch.delenv(name, raising=False)


_AT_START = dict(os.environ)
_SET_BY_LIBRARIES = {"TF_USE_LEGACY_KERAS", "PYTHONBREAKPOINT"}
"""By importing tensorflow_transform, and by ray.init."""


@pytest.fixture(scope="session")
def kept_fork_servers() -> Iterator[WarmProcesses]:
    launcher = WarmProcesses()
    yield launcher
    launcher.end()


@pytest.fixture(scope="module")
def warm(kept_fork_servers: WarmProcesses) -> Iterator[None]:
    """Pipelines of this test find TensorFlow imported by an earlier one; their workers are new."""
    with intercept(RunOptions(), kept_fork_servers):
        yield


Write = Callable[..., Path]
RunPython = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes one file below the test's folder: `write("pkg/a.py", "x = 1")`."""

    def write_file(name: str, text: str = "") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write_file


@pytest.fixture
def import_system() -> Iterator[None]:
    """Puts back what loading a user's module changes in this process."""
    path, finders, modules = list(sys.path), list(sys.meta_path), set(sys.modules)
    yield
    sys.path[:], sys.meta_path[:] = path, finders
    for name in set(sys.modules) - modules:
        # Installed ones have compiled parts, which cannot be imported twice.
        if "site-packages" not in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def run_python() -> RunPython:
    """Runs a program in a process of its own and returns what it printed."""

    def run(program: str, *arguments: object) -> str:
        command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
        environ = {name: value for name, value in os.environ.items() if "KERAS" not in name}
        done = subprocess.run(
            command, capture_output=True, text=True, env={**environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
