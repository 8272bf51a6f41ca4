# SPDX-License-Identifier: Apache-2.0
"""What blessings are called and hold, for evaluators of users' own."""

ARTIFACT_PROPERTY_BLESSED_KEY = "blessed"
ARTIFACT_PROPERTY_CURRENT_MODEL_URI_KEY = "current_model"
ARTIFACT_PROPERTY_CURRENT_MODEL_ID_KEY = "current_model_id"
ARTIFACT_PROPERTY_BASELINE_MODEL_URI_KEY = "baseline_model"
ARTIFACT_PROPERTY_BASELINE_MODEL_ID_KEY = "baseline_model_id"
BLESSED_VALUE = 1
NOT_BLESSED_VALUE = 0
BLESSED_FILE_NAME = "BLESSED"
NOT_BLESSED_FILE_NAME = "NOT_BLESSED"
VALIDATIONS_TFRECORDS_FILE_NAME = "validations.tfrecord"
EVALUATION_KEY = "evaluation"
