# SPDX-License-Identifier: Apache-2.0
"""Additions to TFMA."""

from tensorflow_model_analysis.addons import fairness
