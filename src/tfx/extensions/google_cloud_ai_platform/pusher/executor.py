# SPDX-License-Identifier: Apache-2.0
"""Serving on AI Platform."""

from stoker.stand_ins.tfx.cloud import (
    ENDPOINT_ARGS_KEY,
    SERVING_ARGS_KEY,
    PusherExecutor as Executor,
)
