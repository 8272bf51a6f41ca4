# SPDX-License-Identifier: Apache-2.0
"""Fairness Indicators by name: eval_config names them, and nothing is registered."""
