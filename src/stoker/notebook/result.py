# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows: how a step ended and what it has published, and the artifacts themselves.

HTML in a notebook, text in a terminal.
"""

import sys
from dataclasses import dataclass

from stoker.any_python.lines import say
from stoker.artifacts import Artifact
from stoker.dsl.component import ChannelMap, Node
from stoker.metadata.records import SKIPPED, Execution, ExecutionState
from stoker.notebook.visualizations import get_registry


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExecutionResult:
    """One execution of a component; a notebook shows it as a table of its outputs."""

    component: Node
    execution: Execution

    @property
    def component_id(self) -> str:
        """The component's name."""
        return self.component.id

    @property
    def execution_id(self) -> int:
        """The number of the execution, which the folders of its outputs have too."""
        return self.execution.id

    @property
    def outputs(self) -> ChannelMap:
        """What was published: `result.outputs["model"].get()[0].uri`."""
        return self.component.outputs

    def __repr__(self) -> str:
        outputs = [f"  {key}: {artifact!r}" for key, artifact in self._artifacts]
        return "\n".join([f"{self.component_id} {self._how}", *outputs])

    def _repr_html_(self) -> str:
        from stoker.views.markup import frame, subheading, table_view
        from stoker.views.table import Table, readable_path

        rows = [
            (key, f"{artifact.type_name} {artifact.id}", readable_path(artifact.uri))
            for key, artifact in self._artifacts
        ]
        table = Table(columns=("output", "artifact", "place"), rows=rows)
        about = f"{self._how} · execution {self.execution_id}"
        return frame(subheading(self.component_id, about) + table_view(table))

    @property
    def _artifacts(self) -> list[tuple[str, Artifact]]:
        return [
            (key, artifact) for key, channel in self.outputs.items() for artifact in channel.get()
        ]

    @property
    def _how(self) -> str:
        if why_not := self.execution.properties.get(SKIPPED):
            return f"skipped: {why_not}"
        if self.execution.state is ExecutionState.CACHED:
            return "cached: nothing has changed"
        return f"done in {(self.execution.updated_ms - self.execution.created_ms) / 1000:.2f} s"


class _ArtifactView:
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
    """Show an artifact at once, as was registered for its type."""
    found = get_registry().get_visualization(artifact.type_name)
    if found is None:
        display_standard(artifact)
    else:
        found.display(artifact)


def display_standard(artifact: Artifact) -> None:
    """Show an artifact at once, with Stoker's own view."""
    if is_in_ipython():
        sys.modules["IPython"].display.display(_ArtifactView(artifact))
    else:
        say(_ArtifactView(artifact))


def is_in_ipython() -> bool:
    """Whether the code is a notebook's or a shell's of IPython, and no program's."""
    ipython = sys.modules.get("IPython")
    return bool(ipython and ipython.get_ipython())
