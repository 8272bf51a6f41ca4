# SPDX-License-Identifier: Apache-2.0
"""Artifacts as HTML: fragments for a notebook, or one page that needs no other file."""

import os

from stoker.any_python.layout import only_file
from stoker.artifacts import (
    Artifact,
    ExampleAnomalies,
    Examples,
    ExampleStatistics,
    InfraBlessing,
    Model,
    ModelBlessing,
    ModelEvaluation,
    ModelRun,
    Schema,
)
from stoker.statistics.compute import read_statistics
from stoker.views.markup import frame, heading, page, table_view
from stoker.views.model_views import (
    evaluation_view,
    facts_view,
    files_view,
    model_view,
    training_view,
    verdict_view,
)
from stoker.views.models import read_curves
from stoker.views.preview import preview
from stoker.views.statistics_view import statistics_view
from stoker.views.table import readable_path
from stoker.views.tables import make_tables, split_folders

__all__ = ["html_page", "html_view"]

_NUM_EXAMPLES = 8
_WIDTH = 160


def html_view(artifact: Artifact) -> str:
    """An artifact as a fragment of HTML that brings its style."""
    return frame(heading(_title(artifact), readable_path(artifact.uri)) + _content(artifact))


def html_page(artifact: Artifact) -> str:
    """The same as a page of its own."""
    return page(_title(artifact), html_view(artifact))


def _title(artifact: Artifact) -> str:
    return f"{artifact.type_name} {artifact.id or ''}".strip()


def _content(artifact: Artifact) -> str:
    if not os.path.exists(artifact.uri):
        return "<p>Its files are gone.</p>"
    match artifact:
        case ExampleStatistics():
            folders = split_folders(artifact)
            return statistics_view(
                {split: read_statistics(only_file(folder)) for split, folder in folders.items()}
            )
        case Examples() | ExampleAnomalies() | Schema():
            return "".join(map(table_view, make_tables(artifact, _NUM_EXAMPLES, _WIDTH)))
        case Model():
            return model_view(artifact)
        case ModelRun() if curves := read_curves(artifact.uri):
            return training_view(curves) + files_view(artifact)
        case ModelEvaluation():
            return evaluation_view(artifact.uri)
        case ModelBlessing() | InfraBlessing():
            return verdict_view(artifact) + facts_view(artifact)
    if tables := preview(artifact):
        return "".join(map(table_view, tables))
    return facts_view(artifact) + files_view(artifact)
