# SPDX-License-Identifier: Apache-2.0
"""Tuning on AI Platform."""

from stoker.stand_ins.tfx.cloud import (
    REMOTE_TRIALS_WORKING_DIR_KEY,
    TUNING_ARGS_KEY,
    TunerExecutor as Executor,
)
