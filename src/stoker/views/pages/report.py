# SPDX-License-Identifier: Apache-2.0
"""A run as one file that needs no server: its page, with what its steps made behind it."""

import datetime
import os
from dataclasses import dataclass

from stoker.artifacts import (
    Artifact,
    ExampleAnomalies,
    ExampleStatistics,
    HyperParameters,
    InfraBlessing,
    Model,
    ModelBlessing,
    ModelEvaluation,
    PushedModel,
    Schema,
    State,
    TunerResults,
)
from stoker.storage.files import write_whole
from stoker.views.pages.artifact_page import show_content
from stoker.views.pages.rendering import read_style, render
from stoker.views.pages.run_page import make_detail_values, make_live_values
from stoker.views.pages.run_reading import RunRecord, StepRecord

LARGEST = 2_000_000
"""What can be mailed, and opens at once."""
_SHOWN = (
    ModelEvaluation,
    ModelBlessing,
    InfraBlessing,
    PushedModel,
    Model,
    TunerResults,
    HyperParameters,
    ExampleAnomalies,
    Schema,
    ExampleStatistics,
)
"""The most wanted first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownArtifact:
    """What one step made, as HTML."""

    id: int
    title: str
    made_by: str
    html: str


def render_report(run: RunRecord) -> str:
    """The report on a run; what would make it too large is left out, and that is said."""
    views: list[ShownArtifact] = []
    room = LARGEST * 0.75 - len(_render(run, []))
    for step, artifact in _choose_artifacts(run):
        html = show_content(artifact)
        room -= len(html)
        if room < 0:
            html = "<p>This is too large for a report: look at it with `stoker ui`.</p>"
        views.append(
            ShownArtifact(
                id=artifact.id,
                title=f"{artifact.type_name} {artifact.id}",
                made_by=step.node_id,
                html=html,
            )
        )
    return _render(run, views)


def _render(run: RunRecord, views: list[ShownArtifact]) -> str:
    return render(
        "run.html",
        base=None,
        live="",
        version="",
        style=read_style(),
        written=datetime.datetime.now().isoformat(sep=" ", timespec="minutes"),
        views=views,
        **make_live_values(run),
        **make_detail_values(run, room=LARGEST // 5),
    )


def write_report(run: RunRecord, path: str) -> str:
    """Write the report on a run, whole or not at all; gives its path."""
    text = render_report(run)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with write_whole(path, durable=False) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    return path


def _choose_artifacts(run: RunRecord) -> list[tuple[StepRecord, Artifact]]:
    """What the steps of a run published that has a view, each once, the most wanted first."""
    found: dict[int, tuple[StepRecord, Artifact]] = {}
    for kind in _SHOWN:
        for step, artifact in run.outputs_of_type(kind):
            if artifact.state == State.LIVE and step.type_name != "Resolver":
                found.setdefault(artifact.id, (step, artifact))
    return list(found.values())
