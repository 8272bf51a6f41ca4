# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.models.rewriting.onnx_rewriter, the same module."""

import sys

from stoker.models.rewriting import onnx_rewriter

sys.modules[__name__] = onnx_rewriter
