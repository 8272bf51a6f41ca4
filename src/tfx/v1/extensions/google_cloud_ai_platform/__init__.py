# SPDX-License-Identifier: Apache-2.0
"""Google's AI Platform."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.stand_ins.tfx.cloud import (
    ENABLE_UCAIP_KEY,
    ENABLE_VERTEX_KEY,
    JOB_ID_KEY,
    LABELS_KEY,
    SERVING_ARGS_KEY,
    TRAINING_ARGS_KEY,
    UCAIP_REGION_KEY,
    VERTEX_CONTAINER_IMAGE_URI_KEY,
    VERTEX_REGION_KEY,
    BulkInferrer,
    Pusher,
    Trainer,
    Tuner,
)
from tfx.v1.extensions.google_cloud_ai_platform import experimental

__getattr__ = find_part(__name__)
