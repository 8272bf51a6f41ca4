# SPDX-License-Identifier: Apache-2.0
"""The runner for Kubeflow: `stoker run` takes its place."""

from stoker.runner.other_runners import KubeflowDagRunner
from stoker.runner.other_runners import Settings as KubeflowDagRunnerConfig
from stoker.runner.other_runners import make_operator_funcs as get_default_pipeline_operator_funcs
from stoker.runner.other_runners import make_settings as get_default_kubeflow_metadata_config
