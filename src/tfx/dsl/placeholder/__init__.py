# SPDX-License-Identifier: Apache-2.0
"""Values that are known only when a pipeline runs."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
