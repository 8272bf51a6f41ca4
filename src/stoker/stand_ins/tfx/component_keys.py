# SPDX-License-Identifier: Apache-2.0
"""The keys of inputs, outputs and parameters that `tfx.types.standard_component_specs` names."""

# Several components
SCHEMA_KEY = "schema"
EXAMPLES_KEY = "examples"
MODEL_KEY = "model"
BLESSING_KEY = "blessing"
TRAIN_ARGS_KEY = "train_args"
CUSTOM_CONFIG_KEY = "custom_config"
MODEL_BLESSING_KEY = "model_blessing"
TRANSFORM_GRAPH_KEY = "transform_graph"
EVAL_ARGS_KEY = "eval_args"
MODULE_FILE_KEY = "module_file"
MODULE_PATH_KEY = "module_path"
EXCLUDE_SPLITS_KEY = "exclude_splits"
STATISTICS_KEY = "statistics"

# ExampleValidator
ANOMALIES_KEY = "anomalies"

# Evaluator
EVAL_CONFIG_KEY = "eval_config"
FEATURE_SLICING_SPEC_KEY = "feature_slicing_spec"
FAIRNESS_INDICATOR_THRESHOLDS_KEY = "fairness_indicator_thresholds"
EXAMPLE_SPLITS_KEY = "example_splits"
BASELINE_MODEL_KEY = "baseline_model"
EVALUATION_KEY = "evaluation"

# InfraValidator
SERVING_SPEC_KEY = "serving_spec"
VALIDATION_SPEC_KEY = "validation_spec"
REQUEST_SPEC_KEY = "request_spec"

# Tuner
TUNER_FN_KEY = "tuner_fn"
TUNE_ARGS_KEY = "tune_args"
BEST_HYPERPARAMETERS_KEY = "best_hyperparameters"
TUNER_RESULTS_KEY = "tuner_results"

# BulkInferrer
MODEL_SPEC_KEY = "model_spec"
DATA_SPEC_KEY = "data_spec"
OUTPUT_EXAMPLE_SPEC_KEY = "output_example_spec"
INFERENCE_RESULT_KEY = "inference_result"
OUTPUT_EXAMPLES_KEY = "output_examples"

# SchemaGen and ImportSchemaGen
INFER_FEATURE_SHAPE_KEY = "infer_feature_shape"
SCHEMA_FILE_KEY = "schema_file"

# StatisticsGen
STATS_OPTIONS_JSON_KEY = "stats_options_json"
SHARDED_STATS_OUTPUT_KEY = "sharded_stats_output"

# ExampleGen
INPUT_BASE_KEY = "input_base"
INPUT_CONFIG_KEY = "input_config"
OUTPUT_CONFIG_KEY = "output_config"
OUTPUT_DATA_FORMAT_KEY = "output_data_format"
OUTPUT_FILE_FORMAT_KEY = "output_file_format"
RANGE_CONFIG_KEY = "range_config"

# Pusher
PUSH_DESTINATION_KEY = "push_destination"
INFRA_BLESSING_KEY = "infra_blessing"
PUSHED_MODEL_KEY = "pushed_model"

# Trainer
RUN_FN_KEY = "run_fn"
TRAINER_FN_KEY = "trainer_fn"
BASE_MODEL_KEY = "base_model"
HYPERPARAMETERS_KEY = "hyperparameters"
MODEL_RUN_KEY = "model_run"

# Transform
PREPROCESSING_FN_KEY = "preprocessing_fn"
STATS_OPTIONS_UPDATER_FN_KEY = "stats_options_updater_fn"
FORCE_TF_COMPAT_V1_KEY = "force_tf_compat_v1"
SPLITS_CONFIG_KEY = "splits_config"
ANALYZER_CACHE_KEY = "analyzer_cache"
TRANSFORMED_EXAMPLES_KEY = "transformed_examples"
UPDATED_ANALYZER_CACHE_KEY = "updated_analyzer_cache"
DISABLE_STATISTICS_KEY = "disable_statistics"
PRE_TRANSFORM_SCHEMA_KEY = "pre_transform_schema"
PRE_TRANSFORM_STATS_KEY = "pre_transform_stats"
POST_TRANSFORM_SCHEMA_KEY = "post_transform_schema"
POST_TRANSFORM_STATS_KEY = "post_transform_stats"
POST_TRANSFORM_ANOMALIES_KEY = "post_transform_anomalies"

# The environment variable that tells TensorFlow of its cluster
TF_CONFIG_ENV = "TF_CONFIG"
