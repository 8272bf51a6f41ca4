# SPDX-License-Identifier: Apache-2.0
"""What people's code finds as tfx_bsl where it is not installed; an installed one comes first."""

import sys

from stoker.stand_ins.tfx_bsl import become_installed_one, find_nothing

if not become_installed_one(sys.modules[__name__]):
    __getattr__ = find_nothing(__name__)
