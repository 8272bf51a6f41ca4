# SPDX-License-Identifier: Apache-2.0
"""What a store tells."""

from stoker.stand_ins.tfx.missing import find_part
from tfx.orchestration.portable.mlmd import execution_lib

__getattr__ = find_part(__name__)
