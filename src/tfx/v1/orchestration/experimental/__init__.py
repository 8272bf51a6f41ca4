# SPDX-License-Identifier: Apache-2.0
"""The runners for Kubeflow and Vertex AI, which write the files that those run."""

from stoker.orchestrators.kubeflow import KubeflowDagRunner, KubeflowDagRunnerConfig
from stoker.orchestrators.kubeflow import KubeflowV2DagRunner, KubeflowV2DagRunnerConfig
from stoker.orchestrators.settings import make_settings as get_default_kubeflow_metadata_config
from stoker.stand_ins.tfx.labels import LABEL_KFP_SDK_ENV
from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
