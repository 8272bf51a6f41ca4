# SPDX-License-Identifier: Apache-2.0
"""What modules import `tfxio` from."""

from stoker.stand_ins.tfx_bsl import find_nothing

__getattr__ = find_nothing(__name__)
