# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.rewriting.converters: the same module, for those who patch it."""

import sys

from stoker.rewriting import converters

sys.modules[__name__] = converters
