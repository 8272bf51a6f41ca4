# SPDX-License-Identifier: Apache-2.0
"""Fairness Indicators."""
