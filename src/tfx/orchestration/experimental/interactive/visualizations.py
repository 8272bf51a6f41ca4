# SPDX-License-Identifier: Apache-2.0
"""Own views of artifacts."""

from stoker.notebook.visualizations import (
    ArtifactVisualization,
    ArtifactVisualizationRegistry,
    get_registry,
)
