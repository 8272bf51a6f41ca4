# SPDX-License-Identifier: Apache-2.0
"""What notebooks call."""

from stoker.stand_ins.missing_modules import find_submodules

__getattr__ = find_submodules(__name__)
