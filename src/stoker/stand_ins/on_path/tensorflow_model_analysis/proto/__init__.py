# SPDX-License-Identifier: Apache-2.0
"""TFMA's messages, as far as Stoker has them."""

from stoker.stand_ins.missing_modules import find_submodules

__getattr__ = find_submodules(__name__)
