# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.rewriting.onnx_rewriter: the same module, for those who patch it."""

import sys

from stoker.rewriting import onnx_rewriter

sys.modules[__name__] = onnx_rewriter
