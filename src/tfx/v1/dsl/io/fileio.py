# SPDX-License-Identifier: Apache-2.0
"""Files on this machine."""

from stoker.stand_ins.tfx.fileio import *
