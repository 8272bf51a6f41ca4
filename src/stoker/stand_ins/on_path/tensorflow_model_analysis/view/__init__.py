# SPDX-License-Identifier: Apache-2.0
"""Views."""

from stoker.stand_ins.tfma.view import *
from stoker.stand_ins.missing_modules import find_submodules

__getattr__ = find_submodules(__name__)
