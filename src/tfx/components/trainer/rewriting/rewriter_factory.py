# SPDX-License-Identifier: Apache-2.0
"""TFX's name for the part of stoker.models.rewriting.converters that makes rewriters."""

from stoker.models.rewriting.converters import ONNX_REWRITER as ONNX_REWRITER
from stoker.models.rewriting.converters import TFJS_REWRITER as TFJS_REWRITER
from stoker.models.rewriting.converters import TFLITE_REWRITER as TFLITE_REWRITER
from stoker.models.rewriting.converters import create_rewriter as create_rewriter
