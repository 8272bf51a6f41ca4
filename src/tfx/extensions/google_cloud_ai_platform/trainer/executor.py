# SPDX-License-Identifier: Apache-2.0
"""Training on AI Platform."""

from stoker.stand_ins.tfx.cloud import (
    ENABLE_UCAIP_KEY,
    ENABLE_VERTEX_KEY,
    JOB_ID_KEY,
    LABELS_KEY,
    TRAINING_ARGS_KEY,
    UCAIP_REGION_KEY,
    VERTEX_REGION_KEY,
    GenericExecutor,
    TrainerExecutor as Executor,
)
