# SPDX-License-Identifier: Apache-2.0
"""Views of Fairness Indicators."""
