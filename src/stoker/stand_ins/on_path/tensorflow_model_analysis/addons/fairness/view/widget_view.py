# SPDX-License-Identifier: Apache-2.0
"""Views of Fairness Indicators."""

from stoker.stand_ins.tfma.fairness import render_fairness_indicator
