# SPDX-License-Identifier: Apache-2.0
"""Which view each type of artifact has, as text and as HTML.

To show a new type of artifact: write a function that makes tables of it, and add a line to VIEWS.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stoker import artifacts
from stoker.any_python.layout import is_remote
from stoker.artifacts import Artifact
from stoker.metadata.masking import mask_secrets
from stoker.views import data_tables, model_tables, model_views
from stoker.views.data_tables import Detail
from stoker.views.markup import frame, heading, page, table_view
from stoker.views.statistics_view import statistics_view
from stoker.views.table import Table, readable_path
from stoker.views.trial_view import trials_view

_IN_A_TERMINAL = Detail()
_ON_A_PAGE = Detail(num_examples=8, width=160)


@dataclass(frozen=True, slots=True)
class View:
    """How the artifacts of one type are shown."""

    tables: Callable[[Any, Detail], list[Table]]
    html: Callable[[Any], str] | None = None
    """A fragment of HTML; without it, the tables are shown there too."""
    lists_files: bool = False
    """Whether its files are worth a list of their own."""


VIEWS: dict[type[Artifact], View] = {
    artifacts.Examples: View(data_tables.examples_tables),
    artifacts.ExampleStatistics: View(data_tables.statistics_tables, statistics_view),
    artifacts.ExampleAnomalies: View(data_tables.anomalies_tables),
    artifacts.Schema: View(data_tables.schema_tables),
    artifacts.Model: View(model_tables.signatures_tables, model_views.model_view, lists_files=True),
    artifacts.ModelRun: View(
        model_tables.curves_tables, model_views.training_view, lists_files=True
    ),
    artifacts.ModelEvaluation: View(model_tables.evaluation_tables, model_views.evaluation_view),
    artifacts.ModelBlessing: View(model_tables.verdict_tables, model_views.verdict_view),
    artifacts.InfraBlessing: View(model_tables.verdict_tables, model_views.verdict_view),
    artifacts.HyperParameters: View(model_tables.hyperparameters_tables),
    artifacts.TunerResults: View(model_tables.trials_tables, trials_view),
    artifacts.ValueArtifact: View(model_tables.value_tables),
}
_NO_TABLES = View(lambda *_: [], lists_files=True)


def preview(artifact: Artifact, detail: Detail = _IN_A_TERMINAL) -> list[Table]:
    """What is in an artifact, as tables; none for what is not there, or has no readable form."""
    artifact = bring_near(artifact)
    return _find_view(artifact).tables(artifact, detail) if os.path.exists(artifact.uri) else []


def bring_near(artifact: Artifact) -> Artifact:
    """The artifact, or a copy of it whose files are on this machine: staged, if in a bucket."""
    if not is_remote(artifact.uri):
        return artifact
    from stoker.storage.upload import stage_artifact

    copied = type(artifact).from_dict(artifact.to_dict())
    copied.uri = stage_artifact(artifact.uri, artifact.custom_properties)
    return copied


def html_view(artifact: Artifact) -> str:
    """An artifact as a fragment of HTML that brings its style."""
    return frame(
        heading(_title(artifact), mask_secrets(readable_path(artifact.uri)))
        + content_view(artifact)
        + _files(artifact)
    )


def html_page(artifact: Artifact) -> str:
    """The same as a page of its own."""
    return page(_title(artifact), html_view(artifact))


def _find_view(artifact: Artifact) -> View:
    return next((VIEWS[kind] for kind in type(artifact).__mro__ if kind in VIEWS), _NO_TABLES)


def _title(artifact: Artifact) -> str:
    return f"{artifact.type_name} {artifact.id or ''}".strip()


def content_view(artifact: Artifact) -> str:
    """What is in an artifact, as HTML without a heading or a style of its own."""
    artifact = bring_near(artifact)
    if not os.path.exists(artifact.uri):
        return "<p>Its files are gone.</p>"
    if draw := _find_view(artifact).html:
        return draw(artifact)
    if tables := preview(artifact, _ON_A_PAGE):
        return "".join(map(table_view, tables))
    return model_views.facts_view(artifact)


def _files(artifact: Artifact) -> str:
    artifact = bring_near(artifact)
    if not os.path.exists(artifact.uri):
        return ""
    view = _find_view(artifact)
    lists_files = view.lists_files or not (view.html or preview(artifact, _ON_A_PAGE))
    return model_views.files_view(artifact) if lists_files else ""
