# SPDX-License-Identifier: Apache-2.0
"""Rewriters by name; each is imported when it is asked for."""

from importlib import import_module
from typing import Any

from stoker.models.rewriting.rewriter import BaseRewriter

__all__ = ["ONNX_REWRITER", "TFJS_REWRITER", "TFLITE_REWRITER", "create_rewriter"]

TFLITE_REWRITER = "TFLiteRewriter"
TFJS_REWRITER = "TFJSRewriter"
ONNX_REWRITER = "ONNXRewriter"

_HOMES = {
    TFLITE_REWRITER: "stoker.models.rewriting.tflite_rewriter",
    TFJS_REWRITER: "stoker.models.rewriting.tfjs_rewriter",
    ONNX_REWRITER: "stoker.models.rewriting.onnx_rewriter",
}


def create_rewriter(rewriter_type: str, *args: Any, **kwargs: Any) -> BaseRewriter:
    """A rewriter of this type, which may be written in lower case, made with these arguments."""
    for name, home in _HOMES.items():
        if name.lower() == rewriter_type.lower():
            rewriter: BaseRewriter = getattr(import_module(home), name)(*args, **kwargs)
            return rewriter
    raise ValueError(f"There is no rewriter {rewriter_type!r}; there are {', '.join(_HOMES)}.")
