# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.models.rewriting: models in other formats."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
