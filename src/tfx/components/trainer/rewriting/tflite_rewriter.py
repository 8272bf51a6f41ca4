# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.models.rewriting.tflite_rewriter, the same module."""

import sys

from stoker.models.rewriting import tflite_rewriter

sys.modules[__name__] = tflite_rewriter
