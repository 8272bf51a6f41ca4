# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.rewriting.rewriter_factory: the same module, for those who patch it."""

import sys

from stoker.rewriting import rewriter_factory

sys.modules[__name__] = rewriter_factory
