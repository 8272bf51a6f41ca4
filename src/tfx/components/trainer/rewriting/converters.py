# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.models.rewriting.converters, the same module."""

import sys

from stoker.models.rewriting import converters

sys.modules[__name__] = converters
