# SPDX-License-Identifier: Apache-2.0
"""Own views of artifacts in notebooks, registered by type as TFX's notebooks do it."""

from typing import Any

from stoker.artifacts import (
    STANDARD_TYPES,
    Artifact,
    ExampleAnomalies,
    ExampleStatistics,
    ModelEvaluation,
    Schema,
)


class ArtifactVisualization:
    """How artifacts of one type are shown; a class of the user's own says `ARTIFACT_TYPE`."""

    ARTIFACT_TYPE: type[Artifact]

    def display(self, artifact: Artifact) -> None:
        """Show an artifact."""
        raise NotImplementedError(f"{type(self).__name__} has to define display(self, artifact).")


class _StandardVisualization(ArtifactVisualization):
    def display(self, artifact: Artifact) -> None:
        from stoker.notebook.result import display_standard

        display_standard(artifact)


class ExampleAnomaliesVisualization(_StandardVisualization):
    """Stoker's view of anomalies, for classes of others that begin with it."""

    ARTIFACT_TYPE = ExampleAnomalies


class ExampleStatisticsVisualization(_StandardVisualization):
    """Stoker's view of statistics."""

    ARTIFACT_TYPE = ExampleStatistics


class ModelEvaluationVisualization(_StandardVisualization):
    """Stoker's view of an evaluation."""

    ARTIFACT_TYPE = ModelEvaluation


class SchemaVisualization(_StandardVisualization):
    """Stoker's view of a schema."""

    ARTIFACT_TYPE = Schema


class ArtifactVisualizationRegistry:
    """Which visualization shows artifacts of which type."""

    def __init__(self) -> None:
        self._by_type: dict[str, type[ArtifactVisualization]] = {}

    def register(self, visualization_class: Any) -> None:
        """Show artifacts of `visualization_class.ARTIFACT_TYPE` with that class from now on."""
        shown = getattr(visualization_class, "ARTIFACT_TYPE", None)
        if not (isinstance(shown, type) and issubclass(shown, Artifact) and shown.TYPE_NAME):
            raise TypeError(
                f"{visualization_class.__name__}.ARTIFACT_TYPE must be a class of artifacts with "
                f"a TYPE_NAME, got {shown!r}."
            )
        self._by_type[shown.TYPE_NAME] = visualization_class

    def get_visualization(self, artifact_type_name: str) -> ArtifactVisualization | None:
        """The visualization of a type: one that was registered, or Stoker's own view."""
        if artifact_type_name in self._by_type:
            return self._by_type[artifact_type_name]()
        return _StandardVisualization() if artifact_type_name in STANDARD_TYPES else None


_REGISTRY = ArtifactVisualizationRegistry()


def get_registry() -> ArtifactVisualizationRegistry:
    """The registry of this process."""
    return _REGISTRY


def register_standard_visualizations() -> None:
    """Nothing to do: Stoker's own views are always there."""
