# SPDX-License-Identifier: Apache-2.0
"""The runners for Kubeflow and Vertex AI: `stoker run` takes their place."""

from stoker.runner.other_runners import KubeflowDagRunner, KubeflowV2DagRunner
from stoker.runner.other_runners import Settings as KubeflowDagRunnerConfig
from stoker.runner.other_runners import Settings as KubeflowV2DagRunnerConfig
from stoker.runner.other_runners import make_settings as get_default_kubeflow_metadata_config
from stoker.stand_ins.tfx.labels import LABEL_KFP_SDK_ENV
from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
