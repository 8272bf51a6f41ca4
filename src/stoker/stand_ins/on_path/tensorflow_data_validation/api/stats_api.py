# SPDX-License-Identifier: Apache-2.0
"""TFDV's transforms that make and write statistics."""

from stoker.stand_ins.tfdv.transforms import *
