# SPDX-License-Identifier: Apache-2.0
"""The search for hyperparameters."""

from typing import Any, NamedTuple

__all__ = ["TunerFnResult"]


class TunerFnResult(NamedTuple):
    """What `tuner_fn` returns: a tuner of KerasTuner, and what its `search` is called with."""

    tuner: Any
    fit_kwargs: dict[str, Any]
