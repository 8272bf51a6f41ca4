# SPDX-License-Identifier: Apache-2.0
"""Contexts of a store."""

from stoker.stand_ins.tfx.metadata import (
    CONTEXT_TYPE_EXECUTION_CACHE,
    register_context_if_not_exists,
)
from stoker.stand_ins.tfx.missing import COMPILED, find_part

__getattr__ = find_part(__name__, COMPILED)
