# SPDX-License-Identifier: Apache-2.0
"""`tfma.utils`, where TFMA is not installed."""

from stoker.models.extractors import DoFnWithModels
from stoker.stand_ins.tfma.configs import (
    get_baseline_model_spec,
    get_model_spec,
    get_model_type,
    get_non_baseline_model_specs,
    has_change_threshold,
    update_eval_config_with_defaults,
    verify_eval_config,
)
from stoker.stand_ins.tfma.shared_models import verify_and_update_eval_shared_models

__all__ = [
    "DoFnWithModels",
    "get_baseline_model_spec",
    "get_model_spec",
    "get_model_type",
    "get_non_baseline_model_specs",
    "has_change_threshold",
    "update_eval_config_with_defaults",
    "verify_and_update_eval_shared_models",
    "verify_eval_config",
]
