# SPDX-License-Identifier: Apache-2.0
"""Values that are known only when a pipeline runs."""

from stoker.stand_ins.tfx.missing import PLACEHOLDERS, find_part
from stoker.dsl import Placeholder, Predicate, logical_and, logical_not, logical_or

__getattr__ = find_part(__name__, PLACEHOLDERS)
