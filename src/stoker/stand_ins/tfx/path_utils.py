# SPDX-License-Identifier: Apache-2.0
"""`tfx.utils.path_utils`: what any interpreter has of it, and what looks at an artifact."""

import re

from stoker.any_python import layout
from stoker.any_python.layout import *  # noqa: F403
from stoker.any_python.layout import eval_model_dir, serving_model_dir
from stoker.artifacts import Artifact

TFMA_EVAL = "tfma_eval"

__all__ = [*layout.__all__, "get_model_dir_by_type", "is_old_model_artifact"]


def get_model_dir_by_type(output_uri: str, model_type: str, is_old_artifact: bool = False) -> str:
    """Where a Model keeps what is evaluated, or for all other types what is served."""
    find = eval_model_dir if model_type == TFMA_EVAL else serving_model_dir
    return find(output_uri, is_old_artifact)


def is_old_model_artifact(model_artifact: Artifact) -> bool:
    """Whether a Model was made by a TFX before 0.24, which named its folders otherwise."""
    version = re.findall(r"\d+", model_artifact.get_string_custom_property("tfx_version"))
    return bool(version) and (int(version[0]), int(version[1])) < (0, 24)
