# SPDX-License-Identifier: Apache-2.0
"""Fairness Indicators, under older names."""

from stoker.stand_ins.tfma.post_export_metrics import fairness_indicators
