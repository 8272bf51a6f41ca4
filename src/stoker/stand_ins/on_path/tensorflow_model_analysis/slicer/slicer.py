# SPDX-License-Identifier: Apache-2.0
"""Slices, under an older name."""

from stoker.stand_ins.tfma.slicer import *
