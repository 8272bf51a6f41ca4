# SPDX-License-Identifier: Apache-2.0
"""Google's AI Platform: names, for templates that mention them."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
