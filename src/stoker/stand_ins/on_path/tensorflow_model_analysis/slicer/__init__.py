# SPDX-License-Identifier: Apache-2.0
"""Slices."""

from stoker.stand_ins.tfma.slicer import *
