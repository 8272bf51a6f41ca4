# SPDX-License-Identifier: Apache-2.0
"""More keys of custom_config."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.stand_ins.tfx.cloud import (
    ENDPOINT_ARGS_KEY,
    REMOTE_TRIALS_WORKING_DIR_KEY,
    TUNING_ARGS_KEY,
    SERVING_ARGS_KEY as BULK_INFERRER_SERVING_ARGS_KEY,
    SERVING_ARGS_KEY as PUSHER_SERVING_ARGS_KEY,
)

__getattr__ = find_part(__name__)
