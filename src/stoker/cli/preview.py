# SPDX-License-Identifier: Apache-2.0
"""A few rows of what is in an artifact, for those who want to look before they read code."""

import json
import os
from typing import Any

from stoker.artifacts import Artifact, Model, ModelEvaluation, ValueArtifact
from stoker.evaluation.results import read_metrics, read_validation
from stoker.evaluation.summary import failures, metrics_table
from stoker.proto.evaluation_pb2 import ValidationResult
from stoker.views.table import Table
from stoker.views.tables import short, tables_of

__all__ = ["preview"]


def preview(artifact: Artifact) -> list[Table]:
    """What is in an artifact, as tables; none for what is not there, or has no readable form."""
    if not os.path.exists(artifact.uri):
        return []
    match artifact:
        case Model() if signatures := artifact.custom_properties.get("signatures"):
            return [_signatures(signatures)]
        case ModelEvaluation():
            return _evaluation(artifact.uri)
        case ValueArtifact():
            return [Table(columns=("value",), rows=[(short(str(artifact.value)),)])]
    return tables_of(artifact)


def _evaluation(folder: str) -> list[Table]:
    """The metrics, a slice in each row, and the thresholds that do not hold."""
    columns, rows = metrics_table(read_metrics(folder))
    tables = [Table(title="metrics", columns=tuple(columns), rows=[tuple(row) for row in rows])]
    if failed := [(line,) for line in failures(read_validation(folder) or ValidationResult())]:
        tables.append(Table(title="thresholds", columns=("what does not hold",), rows=failed))
    return tables


def _signatures(recorded: Any) -> Table:
    signatures = json.loads(recorded) if isinstance(recorded, str) else recorded
    return Table(
        title="signatures",
        columns=("signature", "takes", "gives"),
        rows=[
            (name, *(_tensors(signature, key) for key in ("inputs", "outputs")))
            for name, signature in signatures.items()
        ],
    )


def _tensors(signature: dict[str, Any], key: str) -> str:
    return ", ".join(_tensor(name, spec) for name, spec in (signature.get(key) or {}).items())


def _tensor(name: str, spec: Any) -> str:
    if not isinstance(spec, dict):
        return f"{name}: {spec}"
    return f"{name}: {spec.get('dtype', '')} {spec.get('shape', '')}".rstrip()
