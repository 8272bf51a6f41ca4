# SPDX-License-Identifier: Apache-2.0
"""The metrics that a training or an evaluation ended with, by names that stand for a whole run."""

import contextlib
import math
import os

from stoker.any_python.layout import METRICS_FILE
from stoker.any_python.lines import escape_controls
from stoker.artifacts import Artifact, ModelEvaluation, ModelRun
from stoker.errors import StokerError
from stoker.storage import metrics_file


def read_last_metrics(artifact: Artifact) -> dict[str, float]:
    """The last values of all metrics; none for what tells none, or cannot be read.

    Those of a training have the names that Keras prints (`loss`, `val_loss`). Those of an
    evaluation are of all examples and of the candidate, with `eval_` before their names.
    """
    found: dict[str, float] = {}
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, StokerError):
        if isinstance(artifact, ModelRun):
            found = metrics_file.read_last_metrics(os.path.join(artifact.uri, METRICS_FILE))
        elif isinstance(artifact, ModelEvaluation):
            found = _read_evaluation(artifact.uri)
    # What a user's code calls a metric may hold what no store and no terminal takes.
    return {escape_controls(name): value for name, value in found.items() if math.isfinite(value)}


def _read_evaluation(folder: str) -> dict[str, float]:
    from stoker.evaluation.results import read_overall_metrics

    return {
        f"eval_{key.shown}": value
        for key, value in read_overall_metrics(folder).items()
        if not key.is_diff and key.model in ("", "candidate")
    }
