# SPDX-License-Identifier: Apache-2.0
"""What people's code finds as tfx_bsl where it is not installed; an installed one comes first."""

import sys

from stoker.stand_ins.missing_modules import tell_of_missing_modules
from stoker.stand_ins.tfx_bsl import become_installed_one, find_nothing, needs_tfx_bsl

if not become_installed_one(sys.modules[__name__]):
    __getattr__ = find_nothing(__name__)
    tell_of_missing_modules(__name__, needs_tfx_bsl)
