# SPDX-License-Identifier: Apache-2.0
"""What of TFX's examples others import, as far as it is here."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
