# SPDX-License-Identifier: Apache-2.0
"""Evaluator as a pipeline sees it."""

from stoker.components.evaluator import Evaluator
