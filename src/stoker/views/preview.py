# SPDX-License-Identifier: Apache-2.0
"""A few rows of what is in an artifact, for those who want to look before they read code."""

import os

from stoker.artifacts import (
    Artifact,
    HyperParameters,
    InfraBlessing,
    Model,
    ModelBlessing,
    ModelEvaluation,
    ModelRun,
    TunerResults,
    ValueArtifact,
)
from stoker.views.models import (
    curves_table,
    evaluation_tables,
    hyperparameters_table,
    read_curves,
    signatures_table,
    trials_table,
    verdict_on,
)
from stoker.views.table import Table
from stoker.views.tables import make_tables, short

__all__ = ["VERDICTS", "preview"]

VERDICTS = {True: "blessed", False: "not blessed", None: "no verdict"}


def preview(artifact: Artifact) -> list[Table]:
    """What is in an artifact, as tables; none for what is not there, or has no readable form."""
    if not os.path.exists(artifact.uri):
        return []
    match artifact:
        case Model() if signatures := artifact.custom_properties.get("signatures"):
            return [signatures_table(signatures)]
        case ModelRun() if curves := read_curves(artifact.uri):
            return [curves_table(curves)]
        case ModelEvaluation():
            return evaluation_tables(artifact.uri)
        case ModelBlessing() | InfraBlessing():
            return [Table(columns=("verdict",), rows=[(VERDICTS[verdict_on(artifact)],)])]
        case HyperParameters():
            return [hyperparameters_table(artifact.uri)]
        case TunerResults():
            return [trials_table(artifact.uri)]
        case ValueArtifact():
            return [Table(columns=("value",), rows=[(short(str(artifact.value)),)])]
    return make_tables(artifact)
