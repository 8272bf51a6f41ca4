# SPDX-License-Identifier: Apache-2.0
"""TFDV's constants, by their names there."""

DEFAULT_SLICE_KEY = "All Examples"
INVALID_SLICE_KEY = "Invalid Slice"
NON_UTF8_PLACEHOLDER = "__BYTES_VALUE__"
LARGE_BYTES_PLACEHOLDER = "__LARGE_BYTES__"
DEFAULT_DESIRED_INPUT_BATCH_SIZE = 1000
METRICS_NAMESPACE = "tfx.DataValidation"
