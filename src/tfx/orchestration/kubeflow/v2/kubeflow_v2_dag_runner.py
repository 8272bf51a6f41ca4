# SPDX-License-Identifier: Apache-2.0
"""The runner for Kubeflow Pipelines 2 and Vertex AI."""

from stoker.orchestrators.kubeflow import (
    DEFAULT_IMAGE_PATH_KEY,
    KubeflowV2DagRunner,
    KubeflowV2DagRunnerConfig,
)
