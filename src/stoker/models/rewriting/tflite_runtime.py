# SPDX-License-Identifier: Apache-2.0
"""LiteRT, which runs TFLite files; and what such a file says about itself."""

import json
from importlib.metadata import version
from typing import Any

import numpy as np

from stoker.errors import RewriteFailed
from stoker.models.inputs import Arrays
from stoker.models.rewriting.conversion import Runtime
from stoker.models.rewriting.plain import PlainModel

METADATA = "stoker"
"""The name of the metadata entry that says what a file takes and gives, as JSON."""


class LiteRT(Runtime):
    """A TFLite file, loaded."""

    def __init__(self, path: str, key: str) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self.name = f"ai-edge-litert {version('ai-edge-litert')}"
        try:
            self._interpreter = Interpreter(model_path=path)
            self._run = self._interpreter.get_signature_runner(key)
        except (RuntimeError, ValueError) as error:
            raise RewriteFailed(f"{self.name} does not load {path}: {error}") from error
        self.inputs = self._run.get_input_details()
        self.outputs = self._run.get_output_details()

    def answer(self, arrays: Arrays) -> Arrays:
        """What the model answers, with floats for integers that stand for floats."""
        fed = {name: _quantize(arrays[name], detail) for name, detail in self.inputs.items()}
        try:
            found = self._run(**fed)
        except (RuntimeError, ValueError) as error:
            raise RewriteFailed(f"{self.name} cannot run the model: {error}") from error
        return {name: _dequantize(found[name], detail) for name, detail in self.outputs.items()}


def _quantize(array: Any, detail: dict[str, Any]) -> Any:
    scale, zero = detail["quantization"]
    if array.dtype.kind != "f" or not scale:
        return array.astype(detail["dtype"])
    limits = np.iinfo(detail["dtype"])
    return np.clip(np.round(array / scale + zero), limits.min, limits.max).astype(detail["dtype"])


def _dequantize(array: Any, detail: dict[str, Any]) -> Any:
    scale, zero = detail["quantization"]
    return (array.astype(np.float32) - zero) * np.float32(scale) if scale else array


def add_metadata(content: bytes, plain: PlainModel) -> bytes:
    """The file with an entry that says what it takes, and a description for other tools."""
    from tensorflow.lite.python import schema_py_generated as schema
    from tensorflow.lite.tools import flatbuffer_utils

    model = flatbuffer_utils.convert_bytearray_to_object(bytearray(content))
    said = {
        "signature": plain.signature.key,
        "inputs": {one.name: one.to_dict() for one in plain.inputs},
        "outputs": plain.outputs,
    }
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(json.dumps(said).encode(), np.uint8)
    model.buffers.append(buffer)
    entry = schema.MetadataT()
    entry.name = METADATA
    entry.buffer = len(model.buffers) - 1
    model.metadata = [*(model.metadata or []), entry]
    model.description = _describe(plain)
    return bytes(flatbuffer_utils.convert_object_to_bytearray(model))


def _describe(plain: PlainModel) -> str:
    takes = "; ".join(f"{one.name}: {one.meaning}" for one in plain.inputs)
    return f"{plain.signature.key} takes {takes}"
