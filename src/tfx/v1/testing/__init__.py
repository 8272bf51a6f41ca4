# SPDX-License-Identifier: Apache-2.0
"""What tests of components use."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.dsl import Channel

__getattr__ = find_part(__name__)
