# SPDX-License-Identifier: Apache-2.0
"""The types that TFDV's functions take."""

from stoker.stand_ins.tfdv.types import *
