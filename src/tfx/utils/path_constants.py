# SPDX-License-Identifier: Apache-2.0
"""The names of folders inside a Model, and of kinds of models."""

from stoker.any_python.layout import EVAL_MODEL_DIR, SERVING_MODEL_DIR, STAMPED_MODEL_DIR
from stoker.stand_ins.tfx.path_utils import TFMA_EVAL

TF_ESTIMATOR, TF_KERAS, TF_GENERIC = "tf_estimator", "tf_keras", "tf_generic"
TF_LITE, TF_JS = "tf_lite", "tf_js"
