# SPDX-License-Identifier: Apache-2.0
"""What a model can be rewritten to, by name: `Rewriter(to=["tflite_int8", "onnx"])`."""

import os
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from stoker.any_python.launcher_link import report_doing
from stoker.any_python.lines import say
from stoker.errors import RewriteFailed
from stoker.models.rewriting.report import Report
from stoker.models.rewriting.rewriter import (
    ModelDescription,
    ModelType,
    leave_nothing_on_failure,
)

_TFLITE = "stoker.models.rewriting.tflite_rewriter:TFLiteRewriter"
_TFJS = "stoker.models.rewriting.tfjs_rewriter:TFJSRewriter"
_ONNX = "stoker.models.rewriting.onnx_rewriter:ONNXRewriter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A format and a precision."""

    rewriter: str
    """The module and the class of what writes it."""
    folder: str
    """The name of its folder beside Format-Serving, in a model that a Trainer has rewritten."""
    summary: str
    options: Callable[[Any], Mapping[str, Any]] = lambda _: {}
    """Arguments of the rewriter, made with the module of TensorFlow."""
    is_calibrated: bool = False
    """Whether it cannot be made without examples."""
    extra: str = ""
    """The extra that brings what it needs."""
    packages: tuple[str, ...] = ()
    """Of these, the modules."""

    def find_missing(self) -> str | None:
        """A package that is not installed, and how to install it."""
        for package in self.packages:
            if find_spec(package) is None:
                return f"{package} is not installed: pip install 'stoker[{self.extra}]'."
        return None


def _make_options(tf: Any, *, optimize: bool = True, **more: Any) -> dict[str, Any]:
    quantized = {"quantization_optimizations": [tf.lite.Optimize.DEFAULT]} if optimize else {}
    return {"filename": "model.tflite", **quantized, **more}


TARGETS: Mapping[str, Target] = {
    "tflite": Target(
        rewriter=_TFLITE,
        folder="Format-TFLite",
        summary="TFLite, float32",
        options=lambda tf: _make_options(tf, optimize=False),
    ),
    "tflite_dynamic": Target(
        rewriter=_TFLITE,
        folder="Format-TFLite-dynamic",
        summary="TFLite, eight bits for a weight",
        options=_make_options,
    ),
    "tflite_float16": Target(
        rewriter=_TFLITE,
        folder="Format-TFLite-float16",
        summary="TFLite, float16 weights",
        options=lambda tf: _make_options(tf, quantization_supported_types=[tf.float16]),
    ),
    "tflite_int8": Target(
        rewriter=_TFLITE,
        folder="Format-TFLite-int8",
        summary="TFLite, integers throughout; floats at both ends",
        options=lambda tf: _make_options(tf, quantization_enable_full_integer=True),
        is_calibrated=True,
    ),
    "tflite_int8_io": Target(
        rewriter=_TFLITE,
        folder="Format-TFLite-int8-io",
        summary="TFLite, integers throughout and at both ends",
        options=lambda tf: _make_options(
            tf,
            quantization_enable_full_integer=True,
            inference_input_type=tf.int8,
            inference_output_type=tf.int8,
        ),
        is_calibrated=True,
    ),
    "tfjs": Target(rewriter=_TFJS, folder="Format-TFJS", summary="TensorFlow.js"),
    "onnx": Target(
        rewriter=_ONNX,
        folder="Format-ONNX",
        summary="ONNX, float32",
        extra="onnx",
        packages=("onnx", "onnxruntime", "tf2onnx"),
    ),
}
"""Every target by the name that it is asked for with."""


def check_targets(names: Iterable[str]) -> list[str]:
    """These names, if each is that of a target, and none is there twice."""
    found = list(names)
    for name in found:
        if name not in TARGETS:
            raise ValueError(f"There is no format {name!r}; there are {', '.join(TARGETS)}.")
    if len(set(found)) < len(found) or not found:
        raise ValueError(f"Give at least one format, and none of them twice; got {found}.")
    return found


def rewrite(
    saved_model: str,
    target: str,
    folder: str,
    *,
    examples: Sequence[str] | None = None,
    signature: str | None = None,
    tolerance: float | None = None,
) -> Report:
    """Rewrite a SavedModel into a folder, and compare both; RewriteFailed leaves no trace."""
    import tensorflow

    wanted = TARGETS[target]
    if wanted.is_calibrated and examples is None:
        raise RewriteFailed(
            f"{target} is calibrated on examples, and none are known for the model in "
            f"{saved_model}. Name them: examples=example_gen.outputs['examples'] in a Rewriter, "
            "--examples on the command line."
        )
    rewriter = pkgutil.resolve_name(wanted.rewriter)(
        name=target,
        signature_key=signature,
        examples=examples,
        tolerance=tolerance,
        **wanted.options(tensorflow),
    )
    rewriter.perform_rewrite(
        ModelDescription(ModelType.SAVED_MODEL, os.path.abspath(saved_model)),
        ModelDescription(ModelType.ANY_MODEL, folder),
    )
    report: Report = rewriter.report
    return report


def rewrite_all(saved_model: str, folders: Mapping[str, str], **how: Any) -> dict[str, Report]:
    """Rewrite to several targets, as `rewrite` does; if one of them fails, none is left."""
    reports = {}
    with leave_nothing_on_failure(folders.values()):
        for target, folder in folders.items():
            report_doing(f"rewriting the model to {target}")
            reports[target] = rewrite(saved_model, target, folder, **how)
            say(f"{target}: {reports[target].summary()}")
    return reports
