# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.models.rewriting.rewriter_factory, the same module."""

import sys

from stoker.models.rewriting import rewriter_factory

sys.modules[__name__] = rewriter_factory
