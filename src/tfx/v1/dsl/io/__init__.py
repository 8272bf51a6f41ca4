# SPDX-License-Identifier: Apache-2.0
"""Files."""

from stoker.stand_ins.tfx.missing import find_part
from tfx.v1.dsl.io import fileio

__getattr__ = find_part(__name__)
