# SPDX-License-Identifier: Apache-2.0
"""An artifact where the user looks: HTML in a notebook, text in a terminal."""

import sys

from stoker.artifacts import Artifact


class ArtifactView:
    """An artifact as notebooks and terminals show it."""

    def __init__(self, artifact: Artifact) -> None:
        self._artifact = artifact

    def __repr__(self) -> str:
        from stoker.views.artifact_views import preview

        tables = ["\n".join(table.lines()) for table in preview(self._artifact)]
        return "\n\n".join([repr(self._artifact), *tables])

    def _repr_html_(self) -> str:
        from stoker.views.artifact_views import html_view

        return html_view(self._artifact)


def display(artifact: Artifact) -> None:
    """Show an artifact at once."""
    ipython = sys.modules.get("IPython")
    if ipython and ipython.get_ipython():
        ipython.display.display(ArtifactView(artifact))
    else:
        print(ArtifactView(artifact))
