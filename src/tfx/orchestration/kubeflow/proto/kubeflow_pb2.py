# SPDX-License-Identifier: Apache-2.0
"""The messages of the runner for Kubeflow, which nothing here reads."""

from stoker.orchestrators.settings import Settings as KubeflowGrpcMetadataConfig
from stoker.orchestrators.settings import Settings as KubeflowMetadataConfig
