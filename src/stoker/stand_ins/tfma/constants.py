# SPDX-License-Identifier: Apache-2.0
"""TFMA's constants that notebooks and modules name; the values are its own."""

VERSION_STRING = "0.46.0"
"""The version whose names these are."""
VERSION = VERSION_STRING

UNKNOWN_EVAL_MODE = "unknown_eval_mode"
MODEL_CENTRIC_MODE = "model_centric_mode"
DATA_CENTRIC_MODE = "data_centric_mode"

INPUT_KEY = "input"
ARROW_INPUT_COLUMN = "__raw_record__"
ARROW_RECORD_BATCH_KEY = "arrow_record_batch"
FEATURES_PREDICTIONS_LABELS_KEY = "_fpl"
FEATURES_KEY = "features"
TRANSFORMED_FEATURES_KEY = "transformed_features"
LABELS_KEY = "labels"
PREDICTIONS_KEY = "predictions"
EXAMPLE_WEIGHTS_KEY = "example_weights"
ATTRIBUTIONS_KEY = "attributions"
SLICE_KEY_TYPES_KEY = "_slice_key_types"
SLICE_KEYS_KEY = "slice_keys"
SPLIT_KEY = "split"
PREDICTION_LOG_KEY = "prediction_log"
BASELINE_SCORE_KEY = "baseline_score"
EXAMPLE_SCORE_KEY = "example_score"

METRICS_KEY = "metrics"
PLOTS_KEY = "plots"
VALIDATIONS_KEY = "validations"
ANALYSIS_KEY = "analysis"
BASELINE_KEY = "baseline"
CANDIDATE_KEY = "candidate"
MATERIALIZE_COLUMNS = "materialize"
ERROR_METRIC_NAME = "__ERROR__"

TFMA_EVAL = "tfma_eval"
TF_GENERIC = "tf_generic"
TF_ESTIMATOR = "tf_estimator"
TF_KERAS = "tf_keras"
TF_LITE = "tf_lite"
TF_JS = "tf_js"
MATERIALIZED_PREDICTION = "materialized_prediction"
VALID_TF_MODEL_TYPES = (
    *(TFMA_EVAL, TF_GENERIC, TF_ESTIMATOR, TF_KERAS, TF_LITE, TF_JS, MATERIALIZED_PREDICTION),
)
MODEL_AGNOSTIC = "model_agnostic"
EVAL_TAG = "eval_saved_model"
