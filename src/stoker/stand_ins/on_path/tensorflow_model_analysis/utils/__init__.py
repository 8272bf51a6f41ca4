# SPDX-License-Identifier: Apache-2.0
"""What code of others asks of a configuration."""

from stoker.models.tfma_utils import *
from stoker.stand_ins.missing_modules import find_submodules

__getattr__ = find_submodules(__name__)
