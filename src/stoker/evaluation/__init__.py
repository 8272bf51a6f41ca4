# SPDX-License-Identifier: Apache-2.0
"""Evaluating a model: examples and predictions in, metrics of each slice and a verdict out."""
