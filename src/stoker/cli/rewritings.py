# SPDX-License-Identifier: Apache-2.0
"""What is known about a model in other formats, as a table: beside it, and made from it since."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from stoker.artifacts import Artifact, Model
from stoker.cli.printing import Table, readable_size
from stoker.metadata.store import Store

__all__ = ["PROPERTY", "rewritings", "rewritings_of"]

PROPERTY = "rewriting"
"""The custom property of a Model with the reports on its formats, by name."""

_COLUMNS = (
    *("format", "size", "original size", "difference", "allowed"),
    *("one call", "original call", "run in"),
)


def rewritings(store: Store, artifact: Artifact) -> list[Table]:
    """The formats of a model, whether in its own folder or in models made from it."""
    if not isinstance(artifact, Model):
        return []
    made = store.lineage(artifact.id, "downstream").artifacts
    others = [one for one in made if isinstance(one, Model) and one.id != artifact.id]
    return rewritings_of([artifact, *others])


def rewritings_of(models: Iterable[Artifact]) -> list[Table]:
    """The formats that these models are in, if there are such."""
    rows = [row for model in models for row in _rows(model)]
    return [Table(title="formats", columns=_COLUMNS, rows=rows)] if rows else []


def _rows(model: Artifact) -> Iterator[tuple[str, ...]]:
    recorded: Any = model.custom_properties.get(PROPERTY) or {}
    reports = json.loads(recorded) if isinstance(recorded, str) else recorded
    for name, report in reports.items():
        yield (
            name,
            readable_size(int(report["rewritten_bytes"])),
            readable_size(int(report["original_bytes"])),
            _number(report["largest_difference"]),
            f"{report['tolerance']:g}",
            _milliseconds(report["rewritten_ms"]),
            _milliseconds(report["original_ms"]),
            report["runtime"] or report["note"],
        )


def _number(value: float | None) -> str:
    return "not run" if value is None else f"{value:.2g}"


def _milliseconds(value: float | None) -> str:
    return "not run" if value is None else f"{value:.2f} ms"
