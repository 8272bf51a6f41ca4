# SPDX-License-Identifier: Apache-2.0
"""Small tools that pipelines and module files use."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
