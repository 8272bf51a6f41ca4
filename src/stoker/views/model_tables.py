# SPDX-License-Identifier: Apache-2.0
"""Models and what is known about them as tables: signatures, formats, metrics, hyperparameters."""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from stoker.any_python.layout import METRICS_FILE, TUNER_RESULTS_FILE, only_file
from stoker.artifacts import Artifact, ValueArtifact
from stoker.dsl.proto.evaluation_pb2 import ValidationResult
from stoker.evaluation.results import read_metrics, read_validation
from stoker.evaluation.summary import failures, metrics_table
from stoker.storage.metrics_file import read_metrics_file
from stoker.views.data_tables import Detail
from stoker.views.table import Table, one_line, readable_number, readable_size, shorten

REPORTS = "rewriting"
"""The custom property of a Model with the reports on its formats, by name."""
SIGNATURES = "signatures"
"""The custom property of a Model with what its check found that it can be asked."""
VERDICTS = {True: "blessed", False: "not blessed", None: "no verdict"}

Curves: TypeAlias = Mapping[str, Mapping[str, Sequence[tuple[int, float]]]]
"""Metrics by name, then by series: pairs of a step and a value."""

CURVE_COLUMNS = ("points", "last step", "first", "last", "lowest", "highest")
_FORMAT_COLUMNS = (
    *("format", "size", "original size", "difference", "allowed"),
    *("one call", "original call", "run in"),
)


def signatures_tables(model: Artifact, _: Detail) -> list[Table]:
    """What a model can be asked, if its check has recorded it."""
    signatures = _read_recorded(model, SIGNATURES)
    rows = [
        (name, *(_tensors(signature, key) for key in ("inputs", "outputs")))
        for name, signature in signatures.items()
    ]
    columns = ("signature", "inputs", "outputs")
    return [Table(title="signatures", columns=columns, rows=rows)] if signatures else []


def _read_recorded(model: Artifact, name: str) -> dict[str, Any]:
    """A custom property that is a dict, or the same as JSON; empty if it is not there."""
    recorded: Any = model.custom_properties.get(name) or {}
    found: dict[str, Any] = json.loads(recorded) if isinstance(recorded, str) else recorded
    return found


def _tensors(signature: dict[str, Any], key: str) -> str:
    return ", ".join(_tensor(name, spec) for name, spec in (signature.get(key) or {}).items())


def _tensor(name: str, spec: Any) -> str:
    if not isinstance(spec, dict):
        return f"{name}: {spec}"
    return f"{name}: {spec.get('dtype', '')} {spec.get('shape', '')}".rstrip()


def formats_tables(models: Iterable[Artifact]) -> list[Table]:
    """The other formats that these models are in, if there are such."""
    rows = [row for model in models for row in _format_rows(model)]
    return [Table(title="formats", columns=_FORMAT_COLUMNS, rows=rows)] if rows else []


def _format_rows(model: Artifact) -> Iterator[tuple[str, ...]]:
    for name, report in _read_recorded(model, REPORTS).items():
        yield (
            name,
            readable_size(int(report["rewritten_bytes"])),
            readable_size(int(report["original_bytes"])),
            _show_measured(report["largest_difference"], "{:.2g}"),
            f"{report['tolerance']:g}",
            _show_measured(report["rewritten_ms"], "{:.2f} ms"),
            _show_measured(report["original_ms"], "{:.2f} ms"),
            report["runtime"] or report["note"],
        )


def _show_measured(value: float | None, form: str) -> str:
    return "not run" if value is None else form.format(value)


def evaluation_tables(artifact: Artifact, _: Detail) -> list[Table]:
    """The metrics, a slice in each row, and the thresholds that do not hold."""
    folder = artifact.uri
    columns, rows = metrics_table(read_metrics(folder))
    tables = [Table(title="metrics", columns=tuple(columns), rows=[tuple(row) for row in rows])]
    if failed := [(line,) for line in failures(read_validation(folder) or ValidationResult())]:
        tables.append(Table(title="thresholds", columns=("what does not hold",), rows=failed))
    return tables


def verdict_tables(blessing: Artifact, _: Detail) -> list[Table]:
    """Whether a model was blessed, in a word."""
    return [Table(columns=("verdict",), rows=[(VERDICTS[verdict_on(blessing)],)])]


def verdict_on(blessing: Artifact) -> bool | None:
    """Whether a blessing blesses, by its property or the empty file in it; None if neither says."""
    if blessing.has_custom_property("blessed"):
        return blessing.get_int_custom_property("blessed") == 1
    names = os.listdir(blessing.uri)
    verdicts = {not name.endswith("NOT_BLESSED") for name in names if name.endswith("BLESSED")}
    return verdicts.pop() if len(verdicts) == 1 else None


def hyperparameters_tables(artifact: Artifact, _: Detail) -> list[Table]:
    """The values of a search's best trial, or those of a user's own file."""
    found = json.loads(Path(only_file(artifact.uri)).read_text(encoding="utf-8"))
    values = found.get("values", found)
    rows = [(name, _show_value(value)) for name, value in values.items()]
    return [Table(columns=("hyperparameter", "value"), rows=rows)]


def trials_tables(artifact: Artifact, _: Detail) -> list[Table]:
    """Every trial of a search, the best first."""
    trials = json.loads(Path(artifact.uri, TUNER_RESULTS_FILE).read_text(encoding="utf-8"))
    columns = tuple(dict.fromkeys(name for trial in trials for name in trial))
    rows = [
        [_show_value(trial[name]) if name in trial else "" for name in columns] for trial in trials
    ]
    return [Table(columns=columns, rows=rows)]


def value_tables(artifact: ValueArtifact, detail: Detail) -> list[Table]:
    """A value, on one line."""
    return [Table(columns=("value",), rows=[(shorten(str(artifact.value), detail.width),)])]


def _show_value(value: Any) -> str:
    return readable_number(value) if isinstance(value, float) else shorten(one_line(value))


def read_curves(folder: str) -> Curves:
    """How the metrics of a training went; none where it was not watched."""
    curves: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for record in read_metrics_file(Path(folder, METRICS_FILE)):
        for name, value in record.metrics.items():
            points = curves.setdefault(name, {}).setdefault(record.series, [])
            points.append((record.step, value))
    return curves


def curves_tables(artifact: Artifact, _: Detail) -> list[Table]:
    """Where each metric began, where it ended, and its extremes."""
    rows = [
        (name, series, *summarize_curve(points))
        for name, by_series in read_curves(artifact.uri).items()
        for series, points in by_series.items()
    ]
    return [Table(columns=("metric", "series", *CURVE_COLUMNS), rows=rows)] if rows else []


def summarize_curve(points: Sequence[tuple[int, float]]) -> tuple[str, ...]:
    """How many points, the last step; the first value, the last, the lowest, the highest."""
    values = [value for _, value in points]
    finite = [value for value in values if math.isfinite(value)] or values
    found = (values[0], values[-1], min(finite), max(finite))
    return f"{len(points):,}", f"{points[-1][0]:,}", *map(readable_number, found)
