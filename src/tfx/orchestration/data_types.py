# SPDX-License-Identifier: Apache-2.0
"""Values that are given when a pipeline runs."""

from stoker.stand_ins.tfx.missing import missing
from stoker.dsl import RuntimeParameter

__getattr__ = missing(__name__)
