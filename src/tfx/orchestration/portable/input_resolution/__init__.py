# SPDX-License-Identifier: Apache-2.0
"""How inputs are chosen."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
