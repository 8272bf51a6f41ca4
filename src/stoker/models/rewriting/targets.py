# SPDX-License-Identifier: Apache-2.0
"""What a model can be rewritten to, by name: `Rewriter(to=["tflite_int8", "onnx"])`."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stoker.errors import RewriteFailed
from stoker.models.rewriting.report import Report
from stoker.models.rewriting.rewriter import ModelDescription, ModelType
from stoker.models.rewriting.rewriter_factory import (
    ONNX_REWRITER,
    TFJS_REWRITER,
    TFLITE_REWRITER,
    create_rewriter,
)

__all__ = ["TARGETS", "Target", "check_targets", "removed_on_failure", "rewrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A format and a precision."""

    rewriter: str
    folder: str
    """The name of its folder beside Format-Serving, in a model that a Trainer has rewritten."""
    summary: str
    options: Callable[[], Mapping[str, Any]] = field(default=dict)
    """Arguments of the rewriter; a function, since some of them need TensorFlow."""


def _optimized(**more: Any) -> dict[str, Any]:
    import tensorflow as tf

    return {"quantization_optimizations": [tf.lite.Optimize.DEFAULT], **more}


def _float16() -> dict[str, Any]:
    import tensorflow as tf

    return _optimized(quantization_supported_types=[tf.float16])


def _int8_io() -> dict[str, Any]:
    import tensorflow as tf

    ends = {"inference_input_type": tf.int8, "inference_output_type": tf.int8}
    return _optimized(quantization_enable_full_integer=True, **ends)


TARGETS: Mapping[str, Target] = {
    "tflite": Target(rewriter=TFLITE_REWRITER, folder="Format-TFLite", summary="TFLite, float32"),
    "tflite_dynamic": Target(
        rewriter=TFLITE_REWRITER,
        folder="Format-TFLite-dynamic",
        summary="TFLite, eight bits for a weight",
        options=_optimized,
    ),
    "tflite_float16": Target(
        rewriter=TFLITE_REWRITER,
        folder="Format-TFLite-float16",
        summary="TFLite, float16 weights",
        options=_float16,
    ),
    "tflite_int8": Target(
        rewriter=TFLITE_REWRITER,
        folder="Format-TFLite-int8",
        summary="TFLite, integers throughout; floats at both ends",
        options=lambda: _optimized(quantization_enable_full_integer=True),
    ),
    "tflite_int8_io": Target(
        rewriter=TFLITE_REWRITER,
        folder="Format-TFLite-int8-io",
        summary="TFLite, integers throughout and at both ends",
        options=_int8_io,
    ),
    "tfjs": Target(rewriter=TFJS_REWRITER, folder="Format-TFJS", summary="TensorFlow.js"),
    "onnx": Target(rewriter=ONNX_REWRITER, folder="Format-ONNX", summary="ONNX, float32"),
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


@contextlib.contextmanager
def removed_on_failure(folders: Iterable[str]) -> Iterator[None]:
    """Rewrite to several folders inside; if one of them fails, none is left."""
    with contextlib.ExitStack() as undo:
        for folder in folders:
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
        yield
        undo.pop_all()


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
    wanted = TARGETS[target]
    options = dict(wanted.options())
    if options.get("quantization_enable_full_integer") and examples is None:
        raise RewriteFailed(
            f"{target} is calibrated on examples, and none are known for the model in "
            f"{saved_model}. Name them: examples=example_gen.outputs['examples'] in a Rewriter, "
            "--examples on the command line."
        )
    if wanted.rewriter == TFLITE_REWRITER:
        options["filename"] = "model.tflite"
    rewriter: Any = create_rewriter(
        wanted.rewriter,
        name=target,
        signature_key=signature,
        examples=examples,
        tolerance=tolerance,
        **options,
    )
    rewriter.perform_rewrite(
        ModelDescription(ModelType.SAVED_MODEL, os.path.abspath(saved_model)),
        ModelDescription(ModelType.ANY_MODEL, folder),
    )
    report: Report = rewriter.report
    return report
