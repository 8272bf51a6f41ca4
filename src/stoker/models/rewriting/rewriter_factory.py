# SPDX-License-Identifier: Apache-2.0
"""Rewriters by name; each is imported when it is asked for."""

import pkgutil
from typing import Any

from stoker.models.rewriting.rewriter import BaseRewriter
from stoker.models.rewriting.targets import TARGETS

TFLITE_REWRITER = "TFLiteRewriter"
TFJS_REWRITER = "TFJSRewriter"
ONNX_REWRITER = "ONNXRewriter"


def create_rewriter(rewriter_type: str, *args: Any, **kwargs: Any) -> BaseRewriter:
    """A rewriter of this type, which may be written in lower case, made with these arguments."""
    known = {target.rewriter.partition(":")[2]: target.rewriter for target in TARGETS.values()}
    for name, reference in known.items():
        if name.lower() == rewriter_type.lower():
            rewriter: BaseRewriter = pkgutil.resolve_name(reference)(*args, **kwargs)
            return rewriter
    raise ValueError(f"There is no rewriter {rewriter_type!r}; there are {', '.join(known)}.")
