# SPDX-License-Identifier: Apache-2.0
"""What `ModelSpec.model_type` says that a model is; nothing is loaded to know it."""

from collections.abc import Iterable

from stoker.dsl.proto.eval_config_pb2 import ModelSpec
from stoker.evaluation.config import EVAL

TFLITE, TFJS = "tf_lite", "tf_js"
KERAS = "tf_keras"
EVAL_SAVED_MODEL = "tfma_eval"
IN_EXAMPLES = "materialized_prediction"
"""No model is asked: the examples have the predictions, in the feature `prediction_key`."""
SAVED_MODELS = (KERAS, "tf_generic", "tf_estimator", EVAL_SAVED_MODEL)
MODEL_TYPES = (*SAVED_MODELS, TFLITE, TFJS, IN_EXAMPLES)


def is_saved_model(spec: ModelSpec) -> bool:
    """Whether a SavedModel is to be evaluated: unless something else is named."""
    return not spec.model_type or spec.model_type in SAVED_MODELS


def is_eval_saved_model(spec: ModelSpec) -> bool:
    """Whether it is the one that an Estimator exports for evaluation."""
    return spec.model_type == EVAL_SAVED_MODEL or spec.signature_name == EVAL


def check_model_types(specs: Iterable[ModelSpec], *, has_model: bool, has_module: bool) -> None:
    """Refuse types that nobody knows, and predictions that no one makes.

    A module of the user's may load models of a type of its own.
    """
    for spec in specs:
        if spec.model_type and spec.model_type not in MODEL_TYPES and not has_module:
            raise ValueError(
                f"ModelSpec.model_type {spec.model_type!r} is none of {', '.join(MODEL_TYPES)}. "
                "For other models give the Evaluator a module_file with custom_eval_shared_model."
            )
        if spec.model_type == IN_EXAMPLES and has_model:
            raise ValueError(
                f"ModelSpec.model_type is {IN_EXAMPLES!r}, and there is a model, which would not "
                "be asked. Leave out one of them."
            )
        if not has_model and not (spec.prediction_key or spec.prediction_keys):
            raise ValueError(
                "The Evaluator has no model, and no ModelSpec.prediction_key names the feature "
                "with predictions. Give it model=trainer.outputs['model'], or name that feature."
            )
