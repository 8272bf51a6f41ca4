# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.rewriting.tflite_rewriter: the same module, for those who patch it."""

import sys

from stoker.rewriting import tflite_rewriter

sys.modules[__name__] = tflite_rewriter
