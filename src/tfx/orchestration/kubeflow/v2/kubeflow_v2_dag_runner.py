# SPDX-License-Identifier: Apache-2.0
"""The runner for Vertex AI: `stoker run` takes its place."""

from stoker.runner.other_runners import KubeflowV2DagRunner
from stoker.runner.other_runners import Settings as KubeflowV2DagRunnerConfig
