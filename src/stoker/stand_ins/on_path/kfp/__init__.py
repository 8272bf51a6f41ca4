# SPDX-License-Identifier: Apache-2.0
"""What people's code finds as the SDK of Kubeflow Pipelines where it is not installed."""

from stoker.stand_ins.named_only import stand_in

stand_in(__name__)
