# SPDX-License-Identifier: Apache-2.0
"""Metrics of Estimators, under older names."""

import tensorflow_model_analysis.post_export_metrics.post_export_metrics
from stoker.stand_ins.tfma.post_export_metrics import *
from stoker.stand_ins.tfma.post_export_metrics import __getattr__
