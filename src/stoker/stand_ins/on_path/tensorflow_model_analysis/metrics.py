# SPDX-License-Identifier: Apache-2.0
"""Metrics as objects."""

from stoker.stand_ins.tfma.metrics import *
from stoker.stand_ins.tfma.metrics import __getattr__

__path__: list[str] = []  # it is a package in TFMA, whose modules are not here
