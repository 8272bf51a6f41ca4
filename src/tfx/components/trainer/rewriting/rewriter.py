# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.models.rewriting.rewriter, the same module."""

import sys

from stoker.models.rewriting import rewriter

sys.modules[__name__] = rewriter
