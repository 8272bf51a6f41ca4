# SPDX-License-Identifier: Apache-2.0
"""What TFX tells docker: the names are refused, and an import that is not used is not."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
