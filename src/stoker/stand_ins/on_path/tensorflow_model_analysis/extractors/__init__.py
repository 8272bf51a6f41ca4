# SPDX-License-Identifier: Apache-2.0
"""What is taken out of examples."""

from stoker.models.extractors import *
from stoker.stand_ins.missing_modules import find_submodules

__getattr__ = find_submodules(__name__)
