# SPDX-License-Identifier: Apache-2.0
"""Node with @tensorflow/tfjs, which is fetched from the package index when it is first needed."""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
from typing import Any

import numpy as np

from stoker.errors import RewriteFailed
from stoker.launchers.interpreters.venvs import home
from stoker.models.inputs import Arrays
from stoker.models.rewriting.conversion import NotRun, Runtime

_PACKAGE = "@tensorflow/tfjs"
VERSION = "4.22.0"
_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tfjs_run.cjs")
_NUM_TIMED = 50
_DTYPES = {"f": "float32", "i": "int32", "u": "int32", "b": "bool"}


def find_runtime(model_path: str) -> Runtime | NotRun:
    """Something that runs a graph model, or what is missing for it."""
    node = shutil.which("node")
    if node is None:
        return NotRun(why="there is no Node on the PATH to run TensorFlow.js in.")
    try:
        return _Node(node, _install(), model_path)
    except OSError as error:
        return NotRun(why=str(error))


def _install() -> str:
    """The folder with the package, fetched if need be; OSError if it cannot be had."""
    folder = os.path.join(home(), "node", f"tfjs-{VERSION}")
    modules = os.path.join(folder, "node_modules")
    if os.path.isdir(modules):
        return modules
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError(f"there is no npm on the PATH to fetch {_PACKAGE} with.")
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    # Under another name until it is complete: whoever finds the folder can use it.
    with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as making:
        command = [npm, "install", "--no-audit", "--no-fund", f"{_PACKAGE}@{VERSION}"]
        done = subprocess.run(
            [*command, "--prefix", making], capture_output=True, text=True, check=False
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
            raise OSError(f"npm could not fetch {_PACKAGE}: {last}")
        if not os.path.isdir(folder):
            os.mkdir(folder)
            os.rename(os.path.join(making, "node_modules"), modules)
    return modules


class _Node(Runtime):
    """A graph model in Node; each call is a process of its own."""

    def __init__(self, node: str, modules: str, model_path: str) -> None:
        self.name = f"{_PACKAGE} {VERSION} in Node"
        self._command = [node, _SCRIPT]
        self._environ = os.environ | {"NODE_PATH": modules}
        self._model_path = os.path.abspath(model_path)

    def answer(self, arrays: Arrays) -> Arrays:
        """What the model answers, output by output."""
        outputs = self._run(arrays, repeat=1)["outputs"]
        return {
            name: np.array(found["data"]).reshape(found["shape"]) for name, found in outputs.items()
        }

    def milliseconds(self, arrays: Arrays) -> float:
        """How long one call takes, at the median, without starting Node."""
        _, *times = self._run(arrays, repeat=_NUM_TIMED + 1)["milliseconds"]
        return float(statistics.median(times))

    def _run(self, arrays: Arrays, repeat: int) -> dict[str, Any]:
        inputs = {
            name: {
                "dtype": _DTYPES[array.dtype.kind],
                "shape": array.shape,
                "data": array.reshape(-1).tolist(),
            }
            for name, array in arrays.items()
        }
        request = {"model": self._model_path, "inputs": inputs, "repeat": repeat}
        done = subprocess.run(
            self._command,
            input=json.dumps(request),
            capture_output=True,
            text=True,
            check=False,
            env=self._environ,
        )
        if done.returncode:
            raise RewriteFailed(f"{self.name} refuses the model: {done.stderr.strip()[-500:]}")
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
