# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.rewriting.tfjs_rewriter: the same module, for those who patch it."""

import sys

from stoker.rewriting import tfjs_rewriter

sys.modules[__name__] = tfjs_rewriter
