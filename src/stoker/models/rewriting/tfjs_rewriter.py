# SPDX-License-Identifier: Apache-2.0
"""SavedModel to TensorFlow.js: its converter in an environment of its own, and Node to run it.

tensorflowjs wants an older TensorFlow than ours, for parts that a SavedModel does not need; so it
lives in the environment `tfjs`, which is made from the package index when it is first needed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, NoReturn

from stoker.errors import RewriteFailed
from stoker.launchers.interpreters.finding import scrub
from stoker.launchers.interpreters.venvs import RECIPES, create
from stoker.models.rewriting.conversion import Conversion, NotRun, Runtime, UnsupportedOps, prepare
from stoker.models.rewriting.format_rewriter import FormatRewriter
from stoker.models.rewriting.rewriter import ModelType
from stoker.models.rewriting.tfjs_runtime import VERSION, find_runtime
from stoker.patches import tensorflowjs

_ENVIRONMENT = "tfjs"
_UNSUPPORTED = re.compile(r"Unsupported Ops.*\n(.+)")


class TFJSRewriter(FormatRewriter):
    """Writes a SavedModel as a graph model of TensorFlow.js: `model.json` and its weights.

    `examples` are files to compare on, `tolerance` is how much the result may differ; both have
    defaults.
    """

    FORMAT = "TFJS"
    MODEL_TYPE = ModelType.TFJS_MODEL

    def __init__(
        self,
        name: str,
        signature_key: str | None = None,
        *,
        examples: Sequence[str] | None = None,
        tolerance: float | None = None,
    ) -> None:
        super().__init__(name, signature_key, examples, tolerance)

    @property
    def converter(self) -> str:
        """The converter of TensorFlow.js, in its own environment."""
        return f"tensorflowjs {VERSION}"

    def _attempt(self, source: str, target: str, avoid: frozenset[str]) -> Conversion:
        return _convert_tfjs_model(source, target, **self._arguments(avoid=avoid))

    def _find_runtime(self, folder: str, conversion: Conversion) -> Runtime | NotRun:  # noqa: ARG002
        return find_runtime(folder)


def _convert_tfjs_model(saved_model_path: str, destination_path: str, **how: Any) -> Conversion:
    """Convert a SavedModel; TFX's tests replace this function."""
    python = create(RECIPES[_ENVIRONMENT], report=lambda line: print(line, file=sys.stderr))
    conversion = prepare(saved_model_path, **how)
    with tempfile.TemporaryDirectory(prefix="tmp-rewrite-", dir=destination_path) as folder:
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
