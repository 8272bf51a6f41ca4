# SPDX-License-Identifier: Apache-2.0
"""What TFX compiles a pipeline to: the names are refused, and an import that is not used is not."""

from stoker.stand_ins.tfx.missing import COMPILED, find_part
from stoker.stand_ins.tfx.pipeline_options import NodeExecutionOptions

__getattr__ = find_part(__name__, COMPILED)
