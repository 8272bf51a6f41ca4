# SPDX-License-Identifier: Apache-2.0
"""The views of standard artifacts."""

from stoker.notebook.visualizations import (
    ExampleAnomaliesVisualization,
    ExampleStatisticsVisualization,
    ModelEvaluationVisualization,
    SchemaVisualization,
    register_standard_visualizations,
)
