# SPDX-License-Identifier: Apache-2.0
"""`tfma.utils`, where TFMA is not installed: what code of others asks of a configuration."""

from typing import Any

from stoker.dsl.proto.eval_config_pb2 import EvalConfig, ModelSpec
from stoker.evaluation.config import has_change_thresholds, with_defaults
from stoker.stand_ins.tfma.constants import TF_GENERIC, TFMA_EVAL


def update_eval_config_with_defaults(
    eval_config: EvalConfig,
    maybe_add_baseline: bool | None = None,
    maybe_remove_baseline: bool | None = None,  # noqa: ARG001
    has_baseline: bool | None = False,
    rubber_stamp: bool | None = False,
) -> EvalConfig:
    """The configuration with a spec for each model."""
    has_baseline = bool(has_baseline or maybe_add_baseline)
    if not has_baseline and has_change_thresholds(eval_config) and not rubber_stamp:
        raise RuntimeError(
            "There are change thresholds, and no baseline: give one, or rubber_stamp=True."
        )
    return with_defaults(eval_config, has_baseline=has_baseline)


def verify_eval_config(eval_config: EvalConfig, baseline_required: bool | None = None) -> None:
    """Refuse a configuration without a model, or without the baseline that is required."""
    if not eval_config.model_specs:
        raise ValueError("The eval_config has no model_specs. Name at least the label_key in one.")
    if baseline_required and get_baseline_model_spec(eval_config) is None:
        raise ValueError("The eval_config needs a model_spec with is_baseline=True.")


def has_change_threshold(eval_config: EvalConfig) -> bool:
    """Whether a metric is compared with the baseline's."""
    return has_change_thresholds(eval_config)


def get_baseline_model_spec(eval_config: EvalConfig) -> ModelSpec | None:
    """The spec of the baseline, if there is one."""
    return next((spec for spec in eval_config.model_specs if spec.is_baseline), None)


def get_non_baseline_model_specs(eval_config: EvalConfig) -> list[ModelSpec]:
    """The others."""
    return [spec for spec in eval_config.model_specs if not spec.is_baseline]


def get_model_spec(eval_config: EvalConfig, model_name: str) -> ModelSpec | None:
    """The spec of a name; the only one, if no name is given."""
    if len(eval_config.model_specs) == 1 and not model_name:
        return eval_config.model_specs[0]
    return next((spec for spec in eval_config.model_specs if spec.name == model_name), None)


def get_model_type(
    model_spec: ModelSpec | None,
    model_path: str | None = "",  # noqa: ARG001
    tags: Any = None,
) -> str:
    """What a model is said to be."""
    if model_spec and model_spec.model_type:
        return str(model_spec.model_type)
    is_eval = (tags and "eval" in tags) or (model_spec and model_spec.signature_name == "eval")
    return TFMA_EVAL if is_eval else TF_GENERIC
