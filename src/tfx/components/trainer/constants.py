# SPDX-License-Identifier: Apache-2.0
"""The keys of the Trainer's inputs, outputs and parameters."""

from stoker.stand_ins.tfx.component_keys import (
    BASE_MODEL_KEY,
    CUSTOM_CONFIG_KEY,
    EVAL_ARGS_KEY,
    EXAMPLES_KEY,
    HYPERPARAMETERS_KEY,
    SCHEMA_KEY,
    TF_CONFIG_ENV,
    TRAIN_ARGS_KEY,
    TRANSFORM_GRAPH_KEY,
)
from stoker.stand_ins.tfx.component_keys import MODEL_KEY as OUTPUT_MODEL_KEY
from stoker.stand_ins.tfx.component_keys import MODEL_RUN_KEY as LOG_OUTPUT_KEY
