# SPDX-License-Identifier: Apache-2.0
"""Data frames of metrics."""

from tensorflow_model_analysis.experimental import dataframe
