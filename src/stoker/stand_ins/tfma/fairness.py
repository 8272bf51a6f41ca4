# SPDX-License-Identifier: Apache-2.0
"""Fairness Indicators as notebooks look at them, where TFMA is not installed."""

from collections.abc import Callable, Mapping
from typing import Any

from stoker.stand_ins.tfma.results import EvalResult
from stoker.stand_ins.tfma.view import MetricsTable, render_all_slices


def render_fairness_indicator(
    eval_result: EvalResult | None = None,
    multi_eval_results: Mapping[str, EvalResult] | None = None,
    event_handlers: Callable[..., Any] | None = None,  # noqa: ARG001
) -> MetricsTable:
    """The metrics of every slice beside those of all examples; of several models one by one."""
    if (eval_result is None) == (not multi_eval_results):
        raise ValueError("render_fairness_indicator takes eval_result or multi_eval_results.")
    return render_all_slices({"": eval_result} if eval_result else dict(multi_eval_results or {}))
