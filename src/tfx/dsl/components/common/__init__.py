# SPDX-License-Identifier: Apache-2.0
"""Steps that bring in artifacts from outside the run."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
