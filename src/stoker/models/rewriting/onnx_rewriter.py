# SPDX-License-Identifier: Apache-2.0
"""SavedModel to ONNX: tf2onnx, and onnxruntime to run what comes out."""

import os
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from stoker.any_python.layout import check_file_name
from stoker.errors import MissingPart, RewriteFailed
from stoker.models.inputs import Arrays
from stoker.models.rewriting.conversion import (
    Conversion,
    Runtime,
    UnsupportedOps,
    prepare,
    silence,
)
from stoker.models.rewriting.format_rewriter import FormatRewriter
from stoker.models.rewriting.rewriter import ModelDescription, ModelType
from stoker.models.serving_model import first_line

_OPSET = 18
_PACKAGES = ("onnx", "onnxruntime", "tf2onnx")


class ONNXRewriter(FormatRewriter):
    """Writes a SavedModel as one ONNX file.

    Other keyword arguments are options of tf2onnx's `from_graph_def`. `examples` are files to
    compare on, `tolerance` is how much the result may differ; both have defaults.
    """

    FORMAT = "ONNX"
    MODEL_TYPE = ModelType.ONNX_MODEL

    def __init__(
        self,
        name: str,
        filename: str = "model.onnx",
        signature_key: str | None = None,
        opset: int = _OPSET,
        *,
        examples: Sequence[str] | None = None,
        tolerance: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, signature_key, examples=examples, tolerance=tolerance)
        self._filename = check_file_name(filename, "ONNXRewriter(filename=…)")
        self._options = {"opset": opset, **kwargs}

    @property
    def converter(self) -> str:
        """tf2onnx."""
        return f"tf2onnx {version('tf2onnx')}"

    def _pre_rewrite_validate(self, original_model: ModelDescription) -> None:
        super()._pre_rewrite_validate(original_model)
        for package in _PACKAGES:
            if find_spec(package) is None:
                raise MissingPart(
                    f"ONNX needs {package}, which is not installed: pip install 'stoker[onnx]'."
                )

    def _attempt(self, source: str, target: str, avoid: frozenset[str]) -> Conversion:
        conversion = prepare(source, **self._arguments(avoid=avoid))
        with open(os.path.join(target, self._filename), "wb") as file:
            file.write(_convert(conversion, self._options))
        return conversion

    def _find_runtime(self, folder: str, conversion: Conversion) -> "OnnxRuntime":  # noqa: ARG002
        return OnnxRuntime(os.path.join(folder, self._filename))


def _convert(conversion: Conversion, options: dict[str, Any]) -> bytes:
    import onnx
    import tf2onnx

    inputs, outputs, graph = conversion.plain.flat_graph()
    try:
        with silence():
            model, _ = tf2onnx.convert.from_graph_def(
                graph,
                input_names=list(inputs),
                output_names=list(outputs),
                tensors_to_rename=inputs | outputs,
                **options,
            )
    except (ValueError, RuntimeError, TypeError, KeyError, AttributeError) as error:
        raise RewriteFailed(f"tf2onnx says: {first_line(error)}") from error
    ops = {
        node.op_type
        for node in model.graph.node
        if not onnx.defs.has(node.op_type, node.domain or "")
    }
    if ops:
        raise UnsupportedOps("ONNX", ops, conversion)
    content: bytes = model.SerializeToString()
    return content


class OnnxRuntime(Runtime):
    """An ONNX file, loaded."""

    def __init__(self, path: str) -> None:
        import onnxruntime

        self.name = f"onnxruntime {onnxruntime.__version__}"
        errors = onnxruntime.capi.onnxruntime_pybind11_state
        self._refusals = (
            *(errors.Fail, errors.InvalidArgument, errors.InvalidGraph, errors.InvalidProtobuf),
            *(errors.NotImplemented, errors.RuntimeException),
        )
        try:
            self._session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        except self._refusals as error:
            raise RewriteFailed(f"{self.name} does not load {path}: {error}") from error

    def answer(self, arrays: Arrays) -> Arrays:
        """What the model answers, output by output."""
        wanted = {one.name for one in self._session.get_inputs()}
        fed = {name: array for name, array in arrays.items() if name in wanted}
        names = [one.name for one in self._session.get_outputs()]
        try:
            return dict(zip(names, self._session.run(names, fed), strict=True))
        except self._refusals as error:
            raise RewriteFailed(f"{self.name} cannot run the model: {error}") from error
