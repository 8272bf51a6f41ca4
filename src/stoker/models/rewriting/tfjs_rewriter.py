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
from typing import Any

from stoker.errors import RewriteFailed
from stoker.launchers.interpreters import RECIPES, create, scrubbed
from stoker.models.rewriting.conversion import Conversion, UnsupportedOps, convert, prepare, prove
from stoker.models.rewriting.report import Report
from stoker.models.rewriting.rewriter import BaseRewriter, ModelDescription, ModelType
from stoker.models.rewriting.tfjs_runtime import find_runtime

__all__ = ["TFJSRewriter"]

_ENVIRONMENT = "tfjs"
_GUEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tfjs_guest.py")
_UNSUPPORTED = re.compile(r"Unsupported Ops.*\n(.+)")


class TFJSRewriter(BaseRewriter):
    """Writes a SavedModel as a graph model of TensorFlow.js: `model.json` and its weights.

    `examples` are files to compare on, `tolerance` is how much the result may differ; both have
    defaults.
    """

    def __init__(
        self,
        name: str,
        signature_key: str | None = None,
        *,
        examples: Sequence[str] | None = None,
        tolerance: float | None = None,
    ) -> None:
        self._name = name
        self._options = {"signature_key": signature_key, "examples": examples}
        self._tolerance = tolerance
        self._conversion: Conversion | None = None
        self.report: Report | None = None
        """What was found out about the last model that was rewritten."""

    @property
    def name(self) -> str:  # noqa: D102
        return self._name

    def _pre_rewrite_validate(self, original_model: ModelDescription) -> None:
        if original_model.model_type is not ModelType.SAVED_MODEL:
            raise ValueError(f"it takes SavedModels, not {original_model.model_type}.")

    def _rewrite(self, original_model: ModelDescription, rewritten_model: ModelDescription) -> None:
        if rewritten_model.model_type not in (ModelType.TFJS_MODEL, ModelType.ANY_MODEL):
            raise ValueError(
                f"it writes TensorFlow.js, not {rewritten_model.model_type}. Ask for TFJS_MODEL."
            )
        self._conversion = _convert_tfjs_model(
            os.fsdecode(original_model.path),
            os.fsdecode(rewritten_model.path),
            **{name: value for name, value in self._options.items() if value},
        )

    def _post_rewrite_validate(self, rewritten_model: ModelDescription) -> None:
        if not isinstance(self._conversion, Conversion):  # a test has put something in its place
            return
        self.report = prove(
            self._conversion,
            find_runtime(rewritten_model.path),
            rewritten_model.path,
            format_name="TFJS",
            precision="float32",
            converter="tensorflowjs 4.22.0",
            tolerance=self._tolerance,
        )


def _convert_tfjs_model(saved_model_path: str, destination_path: str, **how: Any) -> Conversion:
    """Convert a SavedModel; TFX's tests replace this function."""
    python = create(RECIPES[_ENVIRONMENT], report=lambda line: print(line, file=sys.stderr))
    os.makedirs(destination_path, exist_ok=True)

    def attempt(avoid: frozenset[str]) -> Conversion:
        conversion = prepare(saved_model_path, avoid=avoid, **how)
        with tempfile.TemporaryDirectory(prefix="tmp-rewrite-", dir=destination_path) as folder:
            conversion.plain.save(folder)
            command = [python, _GUEST, folder, destination_path, conversion.plain.signature.key]
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                env=scrubbed(os.environ) | {"TF_CPP_MIN_LOG_LEVEL": "3"},
            )
        if done.returncode:
            _raise_for(done.stderr, conversion)
        _name_inputs(os.path.join(destination_path, "model.json"))
        return conversion

    return convert(attempt)


def _name_inputs(path: str) -> None:
    """Name the inputs as the signature does, where the converter names their tensors."""
    with open(path, encoding="utf-8") as file:
        model = json.load(file)
    inputs = model["signature"]["inputs"]
    model["signature"]["inputs"] = {key.removesuffix(":0"): one for key, one in inputs.items()}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(model, file)


def _raise_for(said: str, conversion: Conversion) -> None:
    if found := _UNSUPPORTED.search(said):
        ops = {name.strip() for name in found.group(1).split(",")}
        raise UnsupportedOps("TensorFlow.js", ops, conversion)
    last = (said.strip().splitlines() or ["nothing"])[-1]
    raise RewriteFailed(f"The converter of TensorFlow.js says: {last}")
