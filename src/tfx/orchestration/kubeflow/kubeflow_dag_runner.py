# SPDX-License-Identifier: Apache-2.0
"""The runner for Kubeflow."""

from stoker.orchestrators.kubeflow import KubeflowDagRunner, KubeflowDagRunnerConfig
from stoker.orchestrators.settings import make_operator_funcs as get_default_pipeline_operator_funcs
from stoker.orchestrators.settings import make_pod_labels as get_default_pod_labels
from stoker.orchestrators.settings import make_settings as get_default_kubeflow_metadata_config
