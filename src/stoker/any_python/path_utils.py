# SPDX-License-Identifier: Apache-2.0
"""Where things are inside a Model, as `tfx.utils.path_utils` names it."""

from __future__ import annotations

import os

from . import layout

__all__ = [
    "EVAL_MODEL_DIR",
    "SERVING_MODEL_DIR",
    "STAMPED_MODEL_DIR",
    "eval_model_dir",
    "eval_model_path",
    "serving_model_dir",
    "serving_model_path",
    "stamped_model_path",
    "warmup_file_path",
]

EVAL_MODEL_DIR = "Format-TFMA"
SERVING_MODEL_DIR = "Format-Serving"
STAMPED_MODEL_DIR = "stamped_model"


def serving_model_dir(output_uri: str, is_old_artifact: bool = False) -> str:
    """Where a Model keeps what is served; `is_old_artifact` for TFX before 0.24."""
    return os.path.join(output_uri, "serving_model_dir" if is_old_artifact else SERVING_MODEL_DIR)


def eval_model_dir(output_uri: str, is_old_artifact: bool = False) -> str:
    """Where a Model keeps its EvalSavedModel; `is_old_artifact` for TFX before 0.24."""
    return os.path.join(output_uri, "eval_model_dir" if is_old_artifact else EVAL_MODEL_DIR)


def serving_model_path(output_uri: str, is_old_artifact: bool = False) -> str:  # noqa: ARG001
    """The served model, in whichever of TFX's layouts it is."""
    return layout.serving_model_path(output_uri)


def eval_model_path(output_uri: str, is_old_artifact: bool = False) -> str:
    """The model to evaluate: the EvalSavedModel, or the served one where there is none."""
    if os.path.isdir(eval_model_dir(output_uri, is_old_artifact)):
        return layout.eval_model_path(output_uri)
    return layout.serving_model_path(output_uri)


def stamped_model_path(output_uri: str) -> str:
    """Where TFX's InfraValidator puts a model with its warmup requests."""
    return os.path.join(output_uri, STAMPED_MODEL_DIR)


def warmup_file_path(saved_model_path: str) -> str:
    """Where TensorFlow Serving looks for a model's warmup requests."""
    return os.path.join(saved_model_path, "assets.extra", "tf_serving_warmup_requests")
