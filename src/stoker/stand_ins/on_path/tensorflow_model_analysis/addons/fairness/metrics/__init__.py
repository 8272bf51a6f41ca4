# SPDX-License-Identifier: Apache-2.0
"""Fairness Indicators, as objects."""

from stoker.stand_ins.tfma.metrics import FairnessIndicators
from tensorflow_model_analysis.addons.fairness.metrics import fairness_indicators
