# SPDX-License-Identifier: Apache-2.0
"""TFMA's version."""

from stoker.stand_ins.tfma.constants import VERSION_STRING
