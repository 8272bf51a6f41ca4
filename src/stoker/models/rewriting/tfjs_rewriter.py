# SPDX-License-Identifier: Apache-2.0
"""SavedModel to TensorFlow.js: its converter in an environment of its own, and Node to run it.

tensorflowjs wants an older TensorFlow than ours, for parts that a SavedModel does not need; so it
lives in the environment `tfjs`, which is made from the package index when it is first needed. The
package @tensorflow/tfjs, which runs the result, is fetched likewise.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from typing import Any, NoReturn

import numpy as np

from stoker.any_python.lines import say
from stoker.errors import RewriteFailed
from stoker.launchers.interpreters.finding import scrub
from stoker.launchers.interpreters.venvs import RECIPES, create, find_home
from stoker.models.inputs import Arrays
from stoker.models.rewriting.comparison import NUM_TIMED
from stoker.models.rewriting.conversion import Conversion, NotRun, Runtime, UnsupportedOps, prepare
from stoker.models.rewriting.format_rewriter import FormatRewriter
from stoker.models.rewriting.rewriter import ModelType
from stoker.patches import tensorflowjs
from stoker.storage.files import make_scratch_dir

_ENVIRONMENT = "tfjs"
_PACKAGE = "@tensorflow/tfjs"
_VERSION = "4.22.0"
_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tfjs_run.cjs")
_DTYPES = {"f": "float32", "i": "int32", "u": "int32", "b": "bool", "O": "string"}
_UNSUPPORTED = re.compile(r"Unsupported Ops.*\n(.+)")


class TFJSRewriter(FormatRewriter):
    """Writes a SavedModel as a graph model of TensorFlow.js: `model.json` and its weights.

    `examples` are files to compare on, `tolerance` is how much the result may differ; both have
    defaults.
    """

    FORMAT = "TFJS"
    MODEL_TYPE = ModelType.TFJS_MODEL

    @property
    def converter(self) -> str:
        """The converter of TensorFlow.js, in its own environment."""
        return f"tensorflowjs {_VERSION}"

    def _attempt(self, source: str, target: str, avoid: frozenset[str]) -> Conversion:
        return _convert_tfjs_model(source, target, **self._arguments(avoid=avoid))

    def _find_runtime(self, folder: str, conversion: Conversion) -> Runtime | NotRun:  # noqa: ARG002
        return find_runtime(folder)


def _convert_tfjs_model(saved_model_path: str, destination_path: str, **how: Any) -> Conversion:
    """Convert a SavedModel; TFX's tests replace this function."""
    python = create(RECIPES[_ENVIRONMENT], report=lambda line: say(line, error=True))
    conversion = prepare(saved_model_path, **how)
    with make_scratch_dir(destination_path, prefix="tmp-rewrite-") as folder:
        conversion.plain.save(folder)
        arguments = [folder, destination_path, conversion.plain.signature.key]
        done = subprocess.run(
            [python, "-I", tensorflowjs.__file__, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env=scrub(os.environ) | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        )
    if done.returncode:
        _raise_for(done.stderr, conversion)
    _name_inputs(os.path.join(destination_path, "model.json"))
    return conversion


def _name_inputs(path: str) -> None:
    """Name the inputs as the signature does, where the converter names their tensors."""
    with open(path, encoding="utf-8") as file:
        model = json.load(file)
    inputs = model["signature"]["inputs"]
    model["signature"]["inputs"] = {key.removesuffix(":0"): one for key, one in inputs.items()}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(model, file)


def _raise_for(said: str, conversion: Conversion) -> NoReturn:
    if found := _UNSUPPORTED.search(said):
        ops = {name.strip() for name in found.group(1).split(",")}
        raise UnsupportedOps("TensorFlow.js", ops, conversion)
    last = (said.strip().splitlines() or ["nothing"])[-1]
    raise RewriteFailed(f"The converter of TensorFlow.js says: {last}")


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
    folder = os.path.join(find_home(), "node", f"tfjs-{_VERSION}")
    modules = os.path.join(folder, "node_modules")
    if os.path.isdir(modules):
        return modules
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError(f"there is no npm on the PATH to fetch {_PACKAGE} with.")
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    # Under another name until it is complete: whoever finds the folder can use it.
    with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as making:
        command = [npm, "install", "--no-audit", "--no-fund", f"{_PACKAGE}@{_VERSION}"]
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
        self.name = f"{_PACKAGE} {_VERSION} in Node"
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
        _, *times = self._run(arrays, repeat=NUM_TIMED + 1)["milliseconds"]
        return float(statistics.median(times))

    def _run(self, arrays: Arrays, repeat: int) -> dict[str, Any]:
        inputs = {
            name: {
                "dtype": _DTYPES[array.dtype.kind],
                "shape": array.shape,
                "data": _as_json(array.reshape(-1)),
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


def _as_json(values: np.ndarray) -> list[Any]:
    if values.dtype != object:
        found: list[Any] = values.tolist()
        return found
    return [value.decode() if isinstance(value, bytes) else value for value in values]
