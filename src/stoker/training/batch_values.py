# SPDX-License-Identifier: Apache-2.0
"""The metrics of single batches of a `fit`, for which Keras itself only has means.

After each step Keras tells the mean of the epoch so far: what one batch added to it is the state of
the metric after the step, less its state before. So a batch is chosen before it is trained on, and
all others cost nothing. That is done for means, which the loss is, and most metrics are; of others,
such as AUC, a batch alone says little, and they are left to the epochs. What a `train_step` of the
user's own returns besides metrics is a value of that batch already.
"""

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

from stoker.training.session import numbers

Sums = dict[str, tuple[float, float]]
"""By the name of a mean: the total, and the weight of what is in it."""


class BatchValues:
    """Reads the state of a model's metrics between two steps."""

    def __init__(self, keras: Any, model: Any) -> None:
        self._keras = keras
        self._model = model
        self._metrics: dict[str, Any] = {}
        # In a worker group, to read a variable is to wait for others, who do not read it now; and
        # JAX brings the variables up to date at the end of an epoch.
        backend = keras.config.backend() if hasattr(keras, "config") else "tensorflow"
        self._reads_state = "TF_CONFIG" not in os.environ and backend == "tensorflow"

    def read_sums(self, num_steps: int, logs: Any) -> Sums:
        """What all means have summed up after so many steps of an epoch.

        From their variables; where these cannot be read, from what Keras told, all batches counted
        alike.
        """
        if not num_steps:
            return {}
        if not self._metrics:
            self._metrics = dict(_list_metrics(self._model, may_ask=self._reads_state))
        means = {name: one for name, one in self._metrics.items() if self._is_mean(one)}
        if self._reads_state:
            return {name: (_read(one.total), _read(one.count)) for name, one in means.items()}
        told = numbers(logs or {})
        return {name: (told[name] * num_steps, num_steps) for name in means if name in told}

    def values_between(self, before: Sums, after: Sums, logs: Any) -> dict[str, float]:
        """The metrics of the batch, or of the batches of one execution, between two readings."""
        values = {name: _mean_between(before.get(name), sums) for name, sums in after.items()}
        told = numbers(logs or {})
        plain = {name: told[name] for name in told if self._is_plain(name, after)}
        return {name: value for name, value in values.items() if value is not None} | plain

    def _is_mean(self, metric: Any) -> bool:
        mean = self._keras.metrics.Mean
        return isinstance(metric, mean) and type(metric).result is mean.result

    def _is_plain(self, name: str, sums: Sums) -> bool:
        """Whether no metric gives it, or one of that name that the steps do not use."""
        if name in self._metrics:
            return name in sums and not sums[name][1]
        # Where nobody knows the names of outputs, what ends like a metric may be one.
        return self._reads_state or not any(name.endswith(f"_{one}") for one in self._metrics)


def _list_metrics(model: Any, *, may_ask: bool) -> Iterator[tuple[str, Any]]:
    """The metrics by the names that logs have for them; None for a part of one that gives several.

    Keras 3 has those of `compile` in one, and names them by the model's outputs too: only their
    result tells, for which a variable is read.
    """
    for metric in model.metrics:
        parts = list(getattr(metric, "metrics", ()))
        result = metric.result() if may_ask and getattr(metric, "built", True) else None
        names = list(result) if isinstance(result, Mapping) else []
        if names:
            known = len(parts) == len(names)
            yield from (
                (name, parts[number] if known else None) for number, name in enumerate(names)
            )
        elif parts:
            yield from ((part.name, part) for part in parts)
        else:
            yield metric.name, metric


def _read(variable: Any) -> float:
    return float(variable.numpy())


def _mean_between(before: tuple[float, float] | None, after: tuple[float, float]) -> float | None:
    """The mean of what came between; what has become NaN or infinity stays what it is."""
    total, weight = before or (0.0, 0.0)
    if not math.isfinite(total) or not math.isfinite(after[0]):
        return after[0]
    return (after[0] - total) / (after[1] - weight) if after[1] > weight else None
