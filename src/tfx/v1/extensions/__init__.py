# SPDX-License-Identifier: Apache-2.0
"""What TFX has for Google's cloud."""

from stoker.stand_ins.tfx.missing import EXTENSIONS, missing

__getattr__ = missing(__name__, EXTENSIONS)
