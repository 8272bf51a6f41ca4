# SPDX-License-Identifier: Apache-2.0
"""Fairness Indicators."""

from tensorflow_model_analysis.addons.fairness import metrics, post_export_metrics, view
