# SPDX-License-Identifier: Apache-2.0
"""The metrics that a training or an evaluation ended with, by names that stand for a whole run."""

import contextlib
import math
import os

from stoker.any_python.layout import METRICS_FILE
from stoker.artifacts import Artifact, ModelEvaluation, ModelRun
from stoker.errors import StokerError
from stoker.storage.metrics_file import MetricsRecord, read_metrics_file

_PREFIXES = {"train": "", "train_epochs": "", "validation": "val_", "eval": "val_"}
"""What Keras puts before a metric's name, by the series that its value is of."""


def read_last_metrics(artifact: Artifact) -> dict[str, float]:
    """The last values of all metrics; none for what tells none, or cannot be read.

    Those of a training have the names that Keras prints (`loss`, `val_loss`). Those of an
    evaluation are of all examples and of the candidate, with `eval_` before their names.
    """
    found: dict[str, float] = {}
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, StokerError):
        if isinstance(artifact, ModelRun):
            found = summarize_training(read_metrics_file(os.path.join(artifact.uri, METRICS_FILE)))
        elif isinstance(artifact, ModelEvaluation):
            found = _read_evaluation(artifact.uri)
    return {name: value for name, value in found.items() if math.isfinite(value)}


def summarize_training(records: list[MetricsRecord]) -> dict[str, float]:
    """The last value of each metric; the mean of an epoch goes before that of a batch."""
    last: dict[str, float] = {}
    of_epochs: dict[str, float] = {}
    for record in records:
        named = {
            f"{_PREFIXES.get(record.series, f'{record.series}_')}{name}": value
            for name, value in record.metrics.items()
        }
        (of_epochs if record.series == "train_epochs" else last).update(named)
    return {**last, **of_epochs}


def _read_evaluation(folder: str) -> dict[str, float]:
    from stoker.evaluation.results import read_metrics

    everything = read_metrics(folder).get((), {})
    return {
        f"eval_{key.name}": value
        for key, value in everything.items()
        if not key.is_diff and key.model in ("", "candidate")
    }
