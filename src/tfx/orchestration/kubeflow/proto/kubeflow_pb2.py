# SPDX-License-Identifier: Apache-2.0
"""The messages of the runner for Kubeflow, which nothing here reads."""

from stoker.runner.other_runners import Settings as KubeflowGrpcMetadataConfig
from stoker.runner.other_runners import Settings as KubeflowMetadataConfig
