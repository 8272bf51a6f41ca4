# SPDX-License-Identifier: Apache-2.0
"""Values that are given when a pipeline runs."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.dsl import RuntimeParameter

__getattr__ = find_part(__name__)
