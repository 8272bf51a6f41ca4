# SPDX-License-Identifier: Apache-2.0
"""Fairness Indicators, under older names."""

from tensorflow_model_analysis.addons.fairness.post_export_metrics import fairness_indicators
