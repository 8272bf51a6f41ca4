# SPDX-License-Identifier: Apache-2.0
"""Modules of TFDV, imported when they are asked for."""

from stoker.stand_ins.tfdv.names import find_submodules

__getattr__ = find_submodules(__name__)
