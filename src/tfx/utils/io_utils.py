# SPDX-License-Identifier: Apache-2.0
"""Whole files in one call."""

from stoker.stand_ins.tfx.io_utils import *
