# SPDX-License-Identifier: Apache-2.0
"""TFMA's constants."""

from stoker.stand_ins.tfma.constants import *
