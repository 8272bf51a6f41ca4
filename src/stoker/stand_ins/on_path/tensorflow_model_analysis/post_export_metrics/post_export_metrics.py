# SPDX-License-Identifier: Apache-2.0
"""Metrics of Estimators, under older names."""

from stoker.stand_ins.tfma.post_export_metrics import *
from stoker.stand_ins.tfma.post_export_metrics import __getattr__
