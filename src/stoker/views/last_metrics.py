# SPDX-License-Identifier: Apache-2.0
"""What came of a training or an evaluation, as few numbers: for lists of runs."""

import contextlib
import os
from collections.abc import Mapping

from stoker.any_python.layout import METRICS_FILE
from stoker.artifacts import Artifact, ModelEvaluation, ModelRun
from stoker.errors import BadData
from stoker.storage.metrics_file import read_last_metrics
from stoker.views.table import readable_number

MEASURED = (str(ModelRun.TYPE_NAME), str(ModelEvaluation.TYPE_NAME))
"""The types of artifacts that have metrics."""
_MOST = 4


def find_last_metrics(artifact: Artifact) -> dict[str, float]:
    """The last metrics of a training, or those of an evaluation over all examples.

    Empty for what has none, was cleaned, or cannot be read.
    """
    if isinstance(artifact, ModelRun):
        return read_last_metrics(os.path.join(artifact.uri, METRICS_FILE))
    if isinstance(artifact, ModelEvaluation) and os.path.isdir(artifact.uri):
        from stoker.evaluation.results import read_overall_metrics  # NumPy, for those who evaluate
        from stoker.evaluation.summary import metric_name

        with contextlib.suppress(BadData):  # `stoker verify` is about damaged files
            found = read_overall_metrics(artifact.uri)
            return {metric_name(key): value for key, value in found.items()}
    return {}


def describe_metrics(metrics: Mapping[str, float | str], most: int = _MOST) -> str:
    """Metrics in one line, the first few of them."""
    few = [
        f"{name} {readable_number(float(value))}" for name, value in list(metrics.items())[:most]
    ]
    return ", ".join([*few, *(["…"] if len(metrics) > most else [])])
