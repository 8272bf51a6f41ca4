# SPDX-License-Identifier: Apache-2.0
"""What runs a pipeline, and where it keeps its records."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
