# SPDX-License-Identifier: Apache-2.0
"""Data frames of metrics."""

from stoker.stand_ins.tfma.dataframes import *
