# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.models.rewriting.tfjs_rewriter, the same module."""

import sys

from stoker.models.rewriting import tfjs_rewriter

sys.modules[__name__] = tfjs_rewriter
