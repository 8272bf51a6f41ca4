# SPDX-License-Identifier: Apache-2.0
"""TFDV's names for slices and for values that cannot be shown."""

from stoker.stand_ins.tfdv.constants import *
