# SPDX-License-Identifier: Apache-2.0
"""How TFX's own orchestrator sees a run."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
