# SPDX-License-Identifier: Apache-2.0
"""What users' own components are built on, under their old paths."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
