# SPDX-License-Identifier: Apache-2.0
"""SavedModel to ONNX: tf2onnx, and onnxruntime to run what comes out."""

import os
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from stoker.errors import MissingPart, RewriteFailed
from stoker.models.rewriting.comparison import Arrays, milliseconds
from stoker.models.rewriting.conversion import (
    Conversion,
    UnsupportedOps,
    convert,
    prepare,
    prove,
    silenced,
)
from stoker.models.rewriting.report import Report
from stoker.models.rewriting.rewriter import BaseRewriter, ModelDescription, ModelType
from stoker.models.rewriting.signature import first_line

__all__ = ["ONNXRewriter"]

_OPSET = 18
_PACKAGES = ("onnx", "onnxruntime", "tf2onnx")


class ONNXRewriter(BaseRewriter):
    """Writes a SavedModel as one ONNX file.

    Other keyword arguments are options of tf2onnx's `from_graph_def`. `examples` are files to
    compare on, `tolerance` is how much the result may differ; both have defaults.
    """

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
        self._name = name
        self._filename = filename
        self._signature_key = signature_key
        self._options = {"opset": opset, **kwargs}
        self._examples = examples
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
        for package in _PACKAGES:
            if find_spec(package) is None:
                raise MissingPart(
                    f"ONNX needs {package}, which is not installed: pip install 'stoker[onnx]'."
                )

    def _rewrite(self, original_model: ModelDescription, rewritten_model: ModelDescription) -> None:
        if rewritten_model.model_type not in (ModelType.ONNX_MODEL, ModelType.ANY_MODEL):
            raise ValueError(
                f"it writes ONNX, not {rewritten_model.model_type}. Ask for ONNX_MODEL."
            )
        os.makedirs(rewritten_model.path, exist_ok=True)
        path = os.path.join(rewritten_model.path, self._filename)

        def attempt(avoid: frozenset[str]) -> Conversion:
            conversion = prepare(
                original_model.path,
                signature_key=self._signature_key,
                examples=self._examples,
                avoid=avoid,
            )
            with open(path, "wb") as file:
                file.write(_converted(conversion, self._options))
            return conversion

        self._conversion = convert(attempt)

    def _post_rewrite_validate(self, rewritten_model: ModelDescription) -> None:
        assert self._conversion
        self.report = prove(
            self._conversion,
            OnnxRuntime(os.path.join(rewritten_model.path, self._filename)),
            rewritten_model.path,
            format_name="ONNX",
            precision="float32",
            converter=f"tf2onnx {version('tf2onnx')}",
            tolerance=self._tolerance,
        )


def _converted(conversion: Conversion, options: dict[str, Any]) -> bytes:
    import onnx
    import tf2onnx

    inputs, outputs, graph = conversion.plain.flat_graph()
    try:
        with silenced():
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


class OnnxRuntime:
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

    def milliseconds(self, arrays: Arrays) -> float:
        """How long one call takes, at the median."""
        return milliseconds(lambda: self.answer(arrays))
