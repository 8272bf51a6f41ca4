# SPDX-License-Identifier: Apache-2.0
"""Serving on AI Platform."""

from stoker.stand_ins.tfx.cloud import (
    ENABLE_VERTEX_KEY,
    ENDPOINT_ARGS_KEY,
    SERVING_ARGS_KEY,
    VERTEX_CONTAINER_IMAGE_URI_KEY,
    VERTEX_REGION_KEY,
    PusherExecutor as Executor,
)
