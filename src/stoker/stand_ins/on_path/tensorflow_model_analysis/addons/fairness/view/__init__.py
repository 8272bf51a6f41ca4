# SPDX-License-Identifier: Apache-2.0
"""Fairness Indicators in a notebook."""

from tensorflow_model_analysis.addons.fairness.view import widget_view
