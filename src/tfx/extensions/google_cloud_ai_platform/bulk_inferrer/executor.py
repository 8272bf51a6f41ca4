# SPDX-License-Identifier: Apache-2.0
"""Inference on AI Platform."""

from stoker.stand_ins.tfx.cloud import SERVING_ARGS_KEY, BulkInferrerExecutor as Executor
