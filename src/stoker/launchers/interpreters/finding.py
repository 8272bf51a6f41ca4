# SPDX-License-Identifier: Apache-2.0
"""The Pythons of this machine: where one of a version is, and which TensorFlow is in it."""

import contextlib
import functools
import glob
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stoker.errors import StokerError

# What is meant for our own Python and its TensorFlow. TensorFlow 2 sets TF2_BEHAVIOR when it is
# imported, and TensorFlow 1.15 would run eagerly under it.
_NOT_FOR_OTHERS = ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS", "KERAS_BACKEND", "VIRTUAL_ENV")
_PREFIXES_NOT_FOR_OTHERS = ("PYTHON", "PYENV_", "__PYVENV", "CONDA_")

_PROBE_SECONDS = 300
# Runs on every Python there is. TensorFlow's version is read from what was installed, since to
# import it takes seconds; only where that says nothing is it imported.
_PROBE = r"""
import json, os, re, sys
names = r"(intel[-_])?(tensorflow|tf[-_]nightly)([-_](cpu|gpu|macos|intel|rocm|aws))*"
found = re.compile(names + r"-(\d[^-]*)\.(dist|egg)-info$", re.I)
versions = [
    match.group(5)
    for folder in sys.path if os.path.isdir(folder)
    for match in map(found.match, sorted(os.listdir(folder))) if match
]
if not versions:
    try:
        import tensorflow
        versions = [tensorflow.__version__]
    except ImportError:
        versions = [""]
print(json.dumps({"version": "%d.%d.%d" % sys.version_info[:3], "tensorflow": versions[0]}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python, and what it is."""

    path: str
    version: str
    tensorflow: str
    """Its version there; empty where there is none."""

    def __str__(self) -> str:
        tensorflow = f"TensorFlow {self.tensorflow}" if self.tensorflow else "no TensorFlow"
        return f"Python {self.version} with {tensorflow}"


@functools.cache
def inspect_python(path: str) -> Interpreter:
    """Ask a Python what it is, once; raises StokerError for what is none."""
    if not os.path.isfile(path):
        raise StokerError(f"There is no Python at {path}. Check the path.")
    try:
        done = subprocess.run(
            [path, "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PROBE_SECONDS,
            env=scrub(os.environ),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StokerError(
            f"{path} cannot be run as a Python: {error}. Give the path of another."
        ) from error
    try:
        record = json.loads(done.stdout.strip().splitlines()[-1])
        return Interpreter(path=path, version=record["version"], tensorflow=record["tensorflow"])
    except (IndexError, ValueError, KeyError, TypeError) as error:
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        raise StokerError(
            f"{path} is not a Python: it left with code {done.returncode}, and its last words "
            f"were: {said[-1]}."
            " Give the path of another."
        ) from error


def scrub(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process for another Python: without those that are meant for this one."""
    return {
        name: value
        for name, value in environ.items()
        if name not in _NOT_FOR_OTHERS and not name.startswith(_PREFIXES_NOT_FOR_OTHERS)
    }


def find_python(versions: Sequence[str]) -> str | None:
    """A Python of one of these versions, such as "3.7"; the first that there is."""
    for version in versions:
        for path in _candidates(version):
            with contextlib.suppress(StokerError):  # a shim of pyenv may only complain
                if inspect_python(path).version.startswith(f"{version}."):
                    return path
    return None


def find_uv() -> str | None:
    """The uv beside this Python, or on the PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "uv")
    return beside if os.access(beside, os.X_OK) else shutil.which("uv")


def _candidates(version: str) -> Iterator[str]:
    """Where a Python of a version may be: here, on the PATH, under pyenv, where uv knows one."""
    yield sys.executable
    if on_path := shutil.which(f"python{version}"):
        yield on_path
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    yield from sorted(glob.glob(os.path.join(pyenv, "versions", f"{version}.*", "bin", "python")))
    if uv := find_uv():
        command = [uv, "python", "find", "--no-python-downloads", "--system", version]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        if found.returncode == 0:
            yield found.stdout.strip()
